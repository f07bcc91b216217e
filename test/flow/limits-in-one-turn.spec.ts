import { EventEmitter } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { join, posix } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { Registry } from 'prom-client';
import { createKey, KeyRing } from '../../src/api-keys/key-ring.js';
import { CircuitBreaker } from '../../src/asset-check/lookup-source.js';
import { MembershipQueue } from '../../src/asset-groups/change-membership.js';
import { CommandQueue, type CommandRules, type Decided, type Loaded } from '../../src/event-log/command-queue.js';
import { ByteBudget, Charge, RateLimit } from '../../src/flow/budgets.js';
import { ConcurrencyLimit, OrganizationQueues, Semaphore, WaitingRequests } from '../../src/flow/concurrency-limit.js';
import { NameReads } from '../../src/lists/names/name-reads.js';
import { FairSlots } from '../../src/flow/turns.js';
import { limitConnections } from '../../src/http/connections.js';
import { createCompressor } from '../../src/http/responses/accept.js';
import { IngestBackpressure } from '../../src/ingestion/receive/backpressure.js';
import { DailyQuota } from '../../src/quotas/daily-quota.js';
import { ExportRecordsHandler } from '../../src/records/export-records.js';
import { readConfig } from '../../src/runtime/config.js';
import { Slots } from '../../src/webhooks/delivery/context.js';
import { TestClock } from '../support/test-clock.js';

/** Something that never ends, so that what is taken is never given back. */
const forever = (): Promise<never> => new Promise(() => {});
/** A dependency of which only these members are called. */
const fake = <Type>(members: object): Type => members as Type;

/**
 * Makes one call, which calls `taken` once it has got past the limit. Few calls can give back what they have taken; all
 * others keep it forever.
 */
type Call = (taken: () => () => void) => unknown;

interface Polling {
  readonly call: Call;
  readonly poll: () => Promise<void>;
}

interface Limiter {
  readonly name: string;
  readonly file: string;
  /** The calls that the limit lets past at the same time. */
  readonly max: number;
  /** Creates the limiter. @returns one call; for a limiter that polls, also what lets it poll */
  readonly open: () => Call | Polling;
}

const occupy =
  (taken: () => unknown): (() => Promise<never>) =>
  () => {
    taken();
    return forever();
  };

const LIMITERS: readonly Limiter[] = [
  {
    name: 'Semaphore',
    file: 'src/flow/concurrency-limit.ts',
    max: 3,
    open() {
      const semaphore = new Semaphore(3);
      return async (taken) => {
        await semaphore.acquire();
        taken();
      };
    },
  },
  {
    name: 'ConcurrencyLimit, running jobs',
    file: 'src/flow/concurrency-limit.ts',
    max: 2,
    open() {
      const jobs = new ConcurrencyLimit({ name: 'jobs', maxRunning: 2, maxWaiting: 9, waitTimeoutMs: 60_000 });
      return (taken) => jobs.run('acme', undefined, occupy(taken));
    },
  },
  {
    name: 'ConcurrencyLimit, running and waiting jobs',
    file: 'src/flow/concurrency-limit.ts',
    max: 2 + 9,
    open() {
      const jobs = new ConcurrencyLimit({ name: 'jobs', maxRunning: 2, maxWaiting: 9, waitTimeoutMs: 60_000 });
      return (taken) => {
        // A job that waits is refused after a while.
        jobs.run('acme', undefined, forever).catch(() => undefined);
        taken();
      };
    },
  },
  {
    name: 'NameReads, running and waiting queries',
    file: 'src/lists/names/name-reads.ts',
    max: 1 + 200,
    open() {
      const reads = new NameReads(fake({}));
      return async (taken) => {
        // A query that is refused is so before the next turn.
        await Promise.race([reads.run({ run: forever }, {}), nextTurn()]);
        taken();
      };
    },
  },
  {
    name: 'OrganizationQueues',
    file: 'src/flow/concurrency-limit.ts',
    max: 1,
    open() {
      let begun = (): unknown => undefined;
      const queues = new OrganizationQueues<{ readonly reject: () => void }>(
        (queue) => queue.splice(0, 1),
        () => {
          begun();
          return forever();
        },
      );
      return (taken) => {
        begun = taken;
        queues.add('acme', { reject: () => {} });
      };
    },
  },
  {
    name: 'WaitingRequests',
    file: 'src/flow/concurrency-limit.ts',
    max: 64,
    open() {
      const waiting = new WaitingRequests();
      return (taken) => waiting.run('acme', occupy(taken));
    },
  },
  {
    name: 'WaitingRequests, of all organizations',
    file: 'src/flow/concurrency-limit.ts',
    max: 7,
    open() {
      const waiting = new WaitingRequests(7);
      let n = 0;
      return (taken) => waiting.run(`acme-${(n += 1)}`, occupy(taken));
    },
  },
  {
    name: 'Charge of a ByteBudget',
    file: 'src/flow/budgets.ts',
    max: 5,
    open() {
      const limits = { name: 'bodies', perOwner: 599, total: 10_000, smallSize: 0, reservedForSmall: 0 };
      const budget = new ByteBudget(limits);
      return (taken) => {
        new Charge(budget, 'acme').add(100);
        taken();
      };
    },
  },
  {
    name: 'Charge of a ByteBudget, of all owners',
    file: 'src/flow/budgets.ts',
    max: 5,
    open() {
      const limits = { name: 'bodies', perOwner: 599, total: 599, smallSize: 0, reservedForSmall: 0 };
      const budget = new ByteBudget(limits);
      let n = 0;
      return (taken) => {
        new Charge(budget, `acme-${(n += 1)}`).add(100);
        taken();
      };
    },
  },
  {
    name: 'RateLimit',
    file: 'src/http/access/check-access.ts',
    max: 6,
    open() {
      const rate = new RateLimit(6, () => 1);
      return (taken) => {
        if (rate.take('key')?.exceeded === false) taken();
      };
    },
  },
  {
    name: 'FairSlots, of an owner',
    file: 'src/flow/turns.ts',
    max: 2,
    open() {
      const slots = new FairSlots(5, 2);
      return (taken) => slots.run('acme', occupy(taken));
    },
  },
  {
    name: 'FairSlots, of all owners',
    file: 'src/flow/turns.ts',
    max: 5,
    open() {
      const slots = new FairSlots(5, 2);
      let n = 0;
      return (taken) => slots.run(`acme-${(n += 1)}`, occupy(taken));
    },
  },
  {
    name: 'CommandQueue, with the command that runs',
    file: 'src/event-log/command-queue.ts',
    max: 4 + 1,
    open() {
      const rules = { name: 'groups', maxCommands: 1, maxWaiting: 4, load: forever };
      const queue = new CommandQueue<{ readonly organization: string }, Loaded, Decided>(
        fake({}),
        fake<CommandRules<{ readonly organization: string }, Loaded, Decided>>(rules),
      );
      return async (taken) => {
        const refused = queue.execute({ organization: 'acme' }).catch(() => 'refused');
        if ((await Promise.race([refused, nextTurn('waits')])) === 'waits') taken();
      };
    },
  },
  {
    name: 'MembershipQueue, with the request that runs',
    file: 'src/asset-groups/change-membership.ts',
    max: 8 + 1,
    open() {
      const unused = fake<never>({});
      const queue = new MembershipQueue(unused, unused, fake({ find: forever }), unused, unused);
      const contents = Array.from({ length: 1_000 }, () => fake<never>({}));
      return async (taken) => {
        const request = { action: 'add', organization: 'acme', groupId: 1, contents } as const;
        const refused = queue.execute(request).catch(() => 'refused');
        if ((await Promise.race([refused, nextTurn('waits')])) === 'waits') taken();
      };
    },
  },
  {
    name: 'DailyQuota',
    file: 'src/quotas/daily-quota.ts',
    max: 5,
    open() {
      const config = readConfig({ INGEST_EVENTS_PER_DAY: '599' });
      const rows = [{ organization: 'acme', events: 0, bytes: 0 }];
      const quota = new DailyQuota(fake({ query: async () => ({ rows }) }), config, new Registry());
      return async (taken) => {
        const refusal = await quota.chargeWithinLimit('acme', { events: 100, bytes: 0 });
        if (refusal === undefined) taken();
      };
    },
  },
  {
    name: 'KeyRing, requests with an unknown key',
    file: 'src/api-keys/key-ring.ts',
    max: 1_000,
    open() {
      const unused = fake<never>({});
      const keys = new KeyRing(unused, fake({ register: () => {} }), unused);
      const key = createKey();
      return (taken) => {
        // The keys are never read, so the wait ends with an error.
        const waits = keys.verifyAfterRead(key)?.catch(() => undefined);
        if (waits !== undefined) taken();
      };
    },
  },
  {
    name: 'IngestBackpressure',
    file: 'src/ingestion/receive/backpressure.ts',
    max: 2,
    open() {
      const clock = new TestClock();
      // Each read takes a while, so that many requests wait for the same read.
      const current = async () => {
        await nextTurn();
        return new Map([['metrics', { projection: 'metrics', position: 0, asOf: 0 }]]);
      };
      const backpressure = new IngestBackpressure(fake({ current, isProjecting: async () => true }), clock);
      const facts = new Map([['acme', 750]]);
      return {
        call: (taken: () => unknown) => backpressure.admit(facts).then(taken),
        poll: () => clock.advance(100),
      };
    },
  },
  {
    name: 'CSV exports of an organization',
    file: 'src/records/export-records.ts',
    max: 1,
    open: () => exporting(() => 'acme'),
  },
  {
    name: 'CSV exports of all organizations',
    file: 'src/records/export-records.ts',
    max: 4,
    open() {
      let n = 0;
      return exporting(() => `acme-${(n += 1)}`);
    },
  },
  {
    name: 'compression of responses',
    file: 'src/http/responses/accept.ts',
    max: 2,
    open() {
      const compress = createCompressor();
      const request = fake<Parameters<typeof compress>[0]>({ headers: { 'accept-encoding': 'gzip' }, method: 'GET' });
      const reply = fake<Parameters<typeof compress>[1]>({ getHeader: () => undefined, header: () => {} });
      const text = 'x'.repeat(100_000);
      return (taken) => {
        let isSent = false;
        let giveBack = (): void => {};
        // A response that is not compressed is sent at once. One that is being compressed occupies a thread.
        compress(request, reply, text, () => {
          isSent = true;
          giveBack();
        });
        if (!isSent) giveBack = taken();
      };
    },
  },
  {
    name: 'Slots of deliveries, of an organization',
    file: 'src/webhooks/delivery/context.ts',
    max: 8,
    open() {
      const slots = new Slots();
      return (taken) => slots.run('acme', true, occupy(taken));
    },
  },
  {
    name: 'Slots of deliveries, of all organizations',
    file: 'src/webhooks/delivery/context.ts',
    max: 64,
    open() {
      const slots = new Slots();
      let n = 0;
      return (taken) => slots.run(`acme-${(n += 1)}`, true, occupy(taken));
    },
  },
  {
    name: 'Slots of deliveries to endpoints that respond slowly',
    file: 'src/webhooks/delivery/context.ts',
    max: 32,
    open() {
      const slots = new Slots();
      let n = 0;
      return (taken) => slots.run(`acme-${(n += 1)}`, false, occupy(taken));
    },
  },
  {
    name: 'CircuitBreaker that is half-open',
    file: 'src/asset-check/lookup-source.ts',
    max: 1,
    open() {
      let now = 0;
      const breaker = new CircuitBreaker(() => now);
      while (!breaker.isOpen) breaker.report(false);
      now = Number.MAX_SAFE_INTEGER;
      return (taken) => {
        if (breaker.allows()) taken();
      };
    },
  },
  {
    name: 'open connections of an address',
    file: 'src/http/connections.ts',
    max: 3,
    open() {
      const server = new EventEmitter();
      limitConnections(fake<Server>(server), 3, () => {});
      return (taken) => {
        let isRefused = false;
        const resetAndDestroy = (): void => void (isRefused = true);
        const socket = Object.assign(new EventEmitter(), { remoteAddress: '127.0.0.1', resetAndDestroy });
        server.emit('connection', fake<Socket>(socket));
        if (!isRefused) taken();
      };
    },
  },
];

/** An export takes its place once it connects to the database. */
const exporting = (organization: () => string): Call => {
  let connecting = (): unknown => undefined;
  const connect = (): Promise<never> => {
    connecting();
    return forever();
  };
  const handler = new ExportRecordsHandler(
    fake({ connect }),
    fake({ requireComplete: () => nextTurn() }),
    fake({}),
    fake({ now: () => 0 }),
  );
  return async (taken) => {
    connecting = taken;
    const selection = { organization: organization(), range: { from: 0, to: 1 } };
    await handler.execute({ selection } as unknown as Parameters<typeof handler.execute>[0]);
  };
};

const CALLS = 1_100;

/** @returns the largest number of calls that were past the limit at the same time */
const takenBy = async (limiter: Limiter, between: (n: number) => Promise<unknown> | undefined): Promise<number> => {
  const opened = limiter.open();
  const { call, poll } = typeof opened === 'function' ? { call: opened, poll: () => nextTurn() } : opened;
  let [taken, most] = [0, 0];
  const take = (): (() => void) => {
    most = Math.max(most, (taken += 1));
    return () => void (taken -= 1);
  };
  for (let n = 0; n < CALLS; n += 1) {
    // A refusal may be thrown or be a rejection.
    void (async () => call(take))().catch(() => undefined);
    await between(n);
  }
  for (let turn = 0; turn < 10; turn += 1) await poll();
  return most;
};

const BETWEEN: readonly (readonly [title: string, between: (n: number) => Promise<unknown> | undefined])[] = [
  ['in one turn', () => undefined],
  ['in interleaved turns', (n) => (n % 7 === 0 ? nextTurn() : n % 3 === 0 ? Promise.resolve() : undefined)],
];

const root = join(import.meta.dirname, '../..');
const sources = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => posix.join('src', name.replaceAll('\\', '/')));

describe('A limit is checked and taken in one turn of the event loop', () => {
  describe.each(BETWEEN)('by many calls %s', (_, between) => {
    it.each(LIMITERS)('$name', async (limiter) => {
      expect(await takenBy(limiter, between)).toBe(limiter.max);
    });
  });

  it('in every file that refuses a request because there are too many', () => {
    const refusing = sources.filter((file) => readFileSync(join(root, file), 'utf8').includes('new TooManyRequests('));
    const tested = new Set(LIMITERS.map(({ file }) => file));
    expect(refusing.length).toBeGreaterThan(5);
    expect(refusing.filter((file) => !tested.has(file))).toEqual([]);
  });
});

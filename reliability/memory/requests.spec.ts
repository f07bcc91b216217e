import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString, getHeapSpaceStatistics } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { CallWatchdog } from '../../src/event-log/eventstoredb/call-watchdog.js';
import { FairQueue } from '../../src/flow/turns.js';
import { OrganizationQueues, ConcurrencyLimit } from '../../src/flow/concurrency-limit.js';
import { UnfinishedBodies } from '../../src/http/body/body-reader.js';

/** Each function holds a request, with everything it refers to, until the returned function is called. */
const HOLDERS: readonly (readonly [string, () => (request: unknown) => () => unknown])[] = [
  [
    'bodies that are still arriving',
    () => {
      const bodies = new UnfinishedBodies(() => false);
      return (request) => {
        const body = bodies.add(() => void request);
        return () => bodies.delete(body);
      };
    },
  ],
  [
    'calls of the event store',
    () => {
      const calls = new CallWatchdog(() => {});
      return (request) => {
        let end!: (answer: unknown) => void;
        void calls.make('append', () => new Promise((resolve) => (end = resolve)) as Promise<typeof request>, {
          timeoutMs: 60_000,
          retryAfterMs: 60_000,
        });
        return () => end(request);
      };
    },
  ],
  [
    'jobs that wait for their turn',
    () => {
      const limit = new ConcurrencyLimit({
        name: 'jobs',
        maxRunning: 1,
        maxWaiting: 1_000,
        waitTimeoutMs: 60_000,
        cooldownMs: 0,
      });
      return (request) => {
        let end!: () => void;
        const ended = new Promise<void>((resolve) => (end = resolve));
        void limit.run('one', undefined, async () => {
          await ended;
          return (request as unknown[]).length;
        });
        return end;
      };
    },
  ],
  [
    'commands of organizations',
    () => {
      const queues = new OrganizationQueues<Waiting>(
        (queue) => queue.splice(0, 10),
        async (_, batch) => void (await Promise.all(batch.map(({ ended }) => ended))),
      );
      let sent = 0;
      return (request) => {
        let end!: () => void;
        const ended = new Promise<void>((resolve) => (end = resolve));
        queues.add(`org-${(sent += 1)}`, { request, ended, reject: () => {} });
        return end;
      };
    },
  ],
  [
    'jobs that share the processor',
    () => {
      const jobs = new FairQueue<unknown>();
      let sent = 0;
      return (request) => {
        jobs.add(`org-${(sent += 1)}`, request);
        return () => jobs.take()!.spend(1);
      };
    },
  ],
];

interface Waiting {
  readonly request: unknown;
  readonly ended: Promise<void>;
  readonly reject: () => void;
}

const collectYoung = (() => {
  setFlagsFromString('--expose-gc');
  const gc = runInNewContext('gc') as (options: { type: 'minor' }) => void;
  return () => gc({ type: 'minor' });
})();
const oldBytes = (): number =>
  getHeapSpaceStatistics().find(({ space_name }) => space_name === 'old_space')!.space_used_size;

const IN_FLIGHT = 64;
const ROUNDS = 24;
const REQUESTS = 1_000;
const WORDS = 1_000;
/** Each request is a copy of this array. */
const REQUEST = Array.from({ length: WORDS }, () => 0);

describe('Memory held during a request', () => {
  it.each(HOLDERS)('is not promoted to the old generation after the request: %s', async (_, create) => {
    const keep = create();
    const ends: (() => unknown)[] = [];
    const promoted: number[] = [];
    for (let round = 0; round < ROUNDS; round += 1) {
      const before = oldBytes();
      for (let n = 0; n < REQUESTS; n += 1) {
        if (ends.length === IN_FLIGHT) ends.shift()!();
        ends.push(keep(REQUEST.with(0, n)));
        if (n % 8 === 0) await nextTurn();
      }
      collectYoung();
      collectYoung();
      promoted.push(oldBytes() - before);
    }
    for (const end of ends) end();
    // The median is used, because a full collection may run in between. Requests in flight are promoted: 64 of each
    // 1,000, and more on a busy machine.
    const median = promoted.sort((a, b) => a - b)[ROUNDS / 2];
    expect(median).toBeLessThan((REQUESTS * WORDS * 8) / 4);
  });
});

import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { HeldLanes, Lease } from '../../../src/read-models/leases/lease.js';
import { TAKE_LEASE } from '../../../src/read-models/leases/statements.js';
import { eventually } from '../../support/eventually.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { whileLocked } from '../../support/while-locked.js';

let database: TestDatabase;
let troubles: string[];

beforeEach(async () => {
  database = await createDatabase();
  troubles = [];
});

afterEach(async () => {
  await database.drop();
  expect(troubles).toEqual([]);
});

const leaseOf = (lane: string, lanes?: HeldLanes): Lease =>
  new Lease(database.pool, lane, (sentence) => troubles.push(sentence), lanes);

/** @returns how long it took, ms */
const acquire = async (lease: Lease): Promise<number> => {
  const begin = Date.now();
  await lease.acquire(AbortSignal.timeout(15_000));
  return Date.now() - begin;
};

describe('the lease of a lane', () => {
  const lease = (): Lease => leaseOf('counts');

  it('is taken over within five seconds of its holder’s death, and at once if it was released', async () => {
    const [first, second, third] = [lease(), lease(), lease()];
    await acquire(first);
    // Killed: nobody renews it.
    const waited = await acquire(second);
    expect(waited).toBeGreaterThan(1_000);
    expect(waited).toBeLessThan(5_000);
    await second.release();
    expect(await acquire(third)).toBeLessThan(1_000);
    const { rows } = await database.pool.query('select lane, epoch from read.projector_leases');
    expect(rows).toEqual([{ lane: 'counts', epoch: 3 }]);
  });

  it('is free again if the process is asked to stop while it takes it', async () => {
    const stop = new AbortController();
    const epochs: (number | undefined)[] = [];
    await whileLocked(database.direct, ['read.projector_leases'], async () => {
      void lease()
        .acquire(stop.signal)
        .then((epoch) => epochs.push(epoch));
      await eventually('it asks for the lease', async () => {
        const { rowCount } = await database.pool.query(
          `select from pg_locks where relation = 'read.projector_leases'::regclass and not granted`,
        );
        return rowCount === 1;
      });
      stop.abort();
    });
    await eventually('it has its answer', () => epochs.length === 1);
    expect(epochs).toEqual([undefined]);
    const { rows } = await database.pool.query('select owner, epoch from read.projector_leases');
    expect(rows).toEqual([{ owner: '', epoch: 1 }]);
  });

  it('stays with the process that renews it, and tells a holder that lost it', async () => {
    const [holder, other] = [lease(), lease()];
    const stop = new AbortController();
    await acquire(holder);
    let lost = 0;
    const held = holder.hold(() => (lost += 1), stop.signal);
    const begin = Date.now();
    await other.acquire(AbortSignal.timeout(4_500));
    expect(Date.now() - begin).toBeGreaterThan(4_000);
    expect(lost).toBe(0);
    // It was too slow to renew it once, and another has it.
    await database.pool.query(
      `update read.projector_leases set owner = 'other', expires_at = 2 * expires_at where lane = 'counts'`,
    );
    await held;
    expect(lost).toBe(1);
    stop.abort();
  });
});

describe('the leases of several lanes', () => {
  const NAMES = ['counts', 'records'];

  /** A projector's leases, as `projections/project.ts` has them. */
  class Projector {
    readonly held = new Set<string>();
    private readonly stop = new AbortController();
    private readonly running: Promise<unknown>;

    constructor() {
      const lanes = new HeldLanes(NAMES);
      this.running = Promise.all(NAMES.map((name) => this.work(name, leaseOf(name, lanes))));
    }

    async end({ isKilled = false } = {}): Promise<void> {
      this.isKilled = isKilled;
      this.stop.abort();
      await this.running;
    }

    private isKilled = false;

    private async work(name: string, lease: Lease): Promise<void> {
      const { signal } = this.stop;
      while (!signal.aborted) {
        await lease.acquire(signal);
        if (signal.aborted) break;
        this.held.add(name);
        const turn = new AbortController();
        await lease.hold(() => turn.abort(), AbortSignal.any([signal, turn.signal]));
        this.held.delete(name);
        if (!this.isKilled) await lease.release();
      }
    }
  }

  const lanesOf = (...projectors: readonly Projector[]): string[] =>
    projectors.map(({ held }) => [...held].sort().join(' '));
  const within = async (ms: number, ...due: readonly [projectors: readonly Projector[], lanes: readonly string[]]) => {
    const [projectors, lanes] = due;
    for (const end = Date.now() + ms; Date.now() < end; await sleep(20))
      if (String(lanesOf(...projectors)) === String(lanes)) return;
    expect(lanesOf(...projectors)).toEqual(lanes);
  };

  it('are shared: a projector alone has all, a second one gets the last, and its lanes when it dies', async () => {
    const first = new Projector();
    await within(20_000, [first], ['counts records']);
    const second = new Projector();
    await within(20_000, [first, second], ['counts', 'records']);
    const third = new Projector();
    await sleep(3_000);
    expect(lanesOf(first, second, third)).toEqual(['counts', 'records', '']);
    await third.end();
    await first.end({ isKilled: true });
    await within(20_000, [second], ['counts records']);
    await second.end();
  });

  it('that are free are taken at once by a projector that has another, unless one that has none wants them', async () => {
    const now = Date.now();
    const at = (lane: string, expiresAt: number, wantedUntil: number): Promise<unknown> =>
      database.pool.query(
        `insert into read.projector_leases (lane, owner, epoch, expires_at, wanted_until) values ($1, 'gone', 1, $2, $3)`,
        [lane, expiresAt, wantedUntil],
      );
    await at('unwanted', now - 1, now - 1);
    await at('wanted', now - 1, now + 60_000);
    await at('wanted in vain', now - 60_000, now + 60_000);
    const take = async (lane: string, hasOther: boolean): Promise<boolean> =>
      (await TAKE_LEASE.run(database.pool, { lane, owner: 'us', holdsMs: 3_000, hasOther }))[0]!.isHeld;
    expect(await take('unwanted', true)).toBe(true);
    expect(await take('wanted', true)).toBe(false);
    expect(await take('wanted', false)).toBe(true);
    expect(await take('wanted in vain', true)).toBe(true);
  });
});

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Checkpoints } from '../../src/read-models/checkpoints.js';
import { Lease, ACQUIRE_LEASE, RELEASE_LEASE } from '../../src/read-models/lease.js';
import type { WatchPool } from '../../src/read-models/pools.js';
import { READ_CLOCK } from '../../src/postgres/statement.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { TestClock } from '../support/test-clock.js';
import { whileLocked } from '../support/while-locked.js';

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

/** Almost the latest end of a valid lease, which is longer than any part of this spec takes. */
const FAR_MS = 5_900;

const leaseOf = (lane: string, clock: TestClock): Lease =>
  new Lease(database.pool, lane, { onError: (sentence) => troubles.push(sentence), clock });

const databaseTime = async (): Promise<number> => (await READ_CLOCK.run(database.pool, {}))[0]!.now;
const rowOf = async (lane: string): Promise<{ owner: string; epoch: number; expiresAt: number }> => {
  const { rows } = await database.pool.query(
    'select owner, epoch, expires_at as "expiresAt" from read.projector_leases where lane = $1',
    [lane],
  );
  return rows[0];
};
/** Leases expire by the database's clock, so specs change the row instead of the clock. */
const expireAt = (lane: string, ms: number): Promise<unknown> =>
  database.pool.query('update read.projector_leases set expires_at = $2 where lane = $1', [lane, ms]);

/** A process that tries to acquire a lease, with its own clock. */
class Applicant {
  readonly clock = new TestClock();
  readonly lease: Lease;
  /** Number of attempts. */
  asked = 0;
  epoch: number | undefined;
  private readonly stop = new AbortController();
  private acquiring: Promise<void> | undefined;

  constructor(readonly lane: string) {
    this.lease = leaseOf(lane, this.clock);
  }

  begin(): void {
    this.acquiring = this.lease
      .acquire(this.stop.signal, () => (this.asked += 1))
      .then((epoch) => void (this.epoch = epoch));
  }

  /** After a failed attempt, the next one would wait for the clock of this test without end. */
  async acquire(): Promise<void> {
    this.begin();
    await eventually('the lease is acquired', () => this.epoch !== undefined);
  }

  async end(): Promise<void> {
    this.stop.abort();
    await this.acquiring;
  }
}

describe('The lease of a lane', () => {
  it('is valid for three seconds, and can be acquired once it has expired or immediately after a release', async () => {
    const [first, second, third] = [new Applicant('counts'), new Applicant('counts'), new Applicant('counts')];
    const before = await databaseTime();
    await first.acquire();
    const { expiresAt } = await rowOf('counts');
    expect(expiresAt).toBeGreaterThanOrEqual(before + 3_000);
    expect(expiresAt).toBeLessThanOrEqual((await databaseTime()) + 3_000);
    // The holder was killed and does not renew the lease.
    await expireAt('counts', (await databaseTime()) + FAR_MS);
    second.begin();
    await eventually('the applicant has asked for the lease', () => second.asked === 1);
    await second.clock.advance(490);
    expect(second.asked).toBe(1);
    await second.clock.advance(10);
    await eventually('the applicant asks twice a second', () => second.asked === 2);
    expect(second.epoch).toBeUndefined();
    await expireAt('counts', before - 1);
    await eventually('the applicant takes over', async () => {
      await second.clock.advance(500);
      return second.epoch === 2;
    });
    await expireAt('counts', (await databaseTime()) + FAR_MS);
    await second.lease.release();
    await third.acquire();
    expect([third.asked, third.epoch]).toEqual([1, 3]);
  });

  it('can be acquired at once if the clock of the database was set back after its last renewal', async () => {
    const [first, second] = [new Applicant('counts'), new Applicant('counts')];
    await first.acquire();
    await expireAt('counts', (await databaseTime()) + 3_600_000);
    expect(await new Checkpoints(database.pool as WatchPool).isProjecting('counts')).toBe(false);
    await second.acquire();
    expect([second.asked, second.epoch]).toEqual([1, 2]);
    expect((await rowOf('counts')).expiresAt).toBeLessThanOrEqual((await databaseTime()) + 3_000);
  });

  it('is released if the process receives the stop signal while it acquires the lease', async () => {
    const stop = new AbortController();
    const epochs: (number | undefined)[] = [];
    await whileLocked(database.pool, ['read.projector_leases'], async () => {
      void leaseOf('counts', new TestClock())
        .acquire(stop.signal)
        .then((epoch) => epochs.push(epoch));
      await eventually('the applicant asks for the lease', async () => {
        const { rowCount } = await database.pool.query(
          `select from pg_locks where relation = 'read.projector_leases'::regclass and not granted`,
        );
        return rowCount === 1;
      });
      stop.abort();
    });
    await eventually('the applicant has its answer', () => epochs.length === 1);
    expect(epochs).toEqual([undefined]);
    const { rows } = await database.pool.query('select owner, epoch from read.projector_leases');
    expect(rows).toEqual([{ owner: '', epoch: 1 }]);
  });

  it('stays with the process that renews it every second, and a holder is notified when it has lost the lease', async () => {
    const [holder, other] = [new Applicant('counts'), new Applicant('counts')];
    await holder.acquire();
    let losses = 0;
    const held = holder.lease.hold(() => (losses += 1), new AbortController().signal);
    await expireAt('counts', 1);
    await holder.clock.advance(990);
    expect((await rowOf('counts')).expiresAt).toBe(1);
    await holder.clock.advance(10);
    await eventually('the lease is renewed', async () => (await rowOf('counts')).expiresAt > 1);
    await expireAt('counts', (await databaseTime()) + FAR_MS);
    other.begin();
    await eventually('another applicant has asked for the lease', async () => {
      await other.clock.advance(500);
      return other.asked >= 3;
    });
    await other.end();
    expect([other.epoch, losses, (await rowOf('counts')).epoch]).toEqual([undefined, 0, 1]);
    // The holder renewed too late, and another process has acquired the lease.
    await database.pool.query(`update read.projector_leases set owner = 'other' where lane = 'counts'`);
    await eventually('the holder knows that it has lost the lease', async () => {
      await holder.clock.advance(1_000);
      return losses > 0;
    });
    await held;
    expect(losses).toBe(1);
  });
});

it('Checkpoints reports a lane as projecting until its lease expires or is released', async () => {
  const checkpoints = new Checkpoints(database.pool as WatchPool);
  const isProjecting = (): Promise<boolean> => checkpoints.isProjecting('counts');
  expect(await isProjecting()).toBe(false);
  const lease = leaseOf('counts', new TestClock());
  await lease.acquire(new AbortController().signal);
  expect(await isProjecting()).toBe(true);
  await lease.release();
  expect(await isProjecting()).toBe(false);
});

it('A released lease can be acquired in the millisecond of its release', async () => {
  const held: boolean[] = [];
  for (let n = 0; n < 200; n += 1) {
    const [state] = await ACQUIRE_LEASE.run(database.pool, {
      lane: 'released',
      owner: `owner-${n}`,
      ttlMs: FAR_MS,
    });
    held.push(state!.isHeld);
    await RELEASE_LEASE.run(database.pool, { lane: 'released', owner: `owner-${n}` });
  }
  expect(held).toEqual(Array(200).fill(true));
});

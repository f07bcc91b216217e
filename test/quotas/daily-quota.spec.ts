import { TooManyRequests } from '../../src/errors.js';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Registry } from 'prom-client';
import { readConfig } from '../../src/runtime/config.js';
import { dayOf, MS_PER_DAY } from '../../src/events/instant.js';
import { type Amount, DailyQuota, readIngestUsage } from '../../src/quotas/daily-quota.js';
import { createPool } from '../../src/postgres/pool.js';
import { eventuallyPasses } from '../support/eventually.js';
import { createDatabase, NO_LIMITS, type TestDatabase } from '../support/postgres.js';

/** The current day, because the database deletes old days by its own clock. */
const NOON = (dayOf(Date.now()) + 0.5) * MS_PER_DAY;

let database: TestDatabase;
let registry: Registry;
/** The quotas of a spec, which write in the background until they are stopped. */
const running: DailyQuota[] = [];

beforeEach(async () => {
  database = await createDatabase();
  jest.spyOn(Date, 'now').mockReturnValue(NOON);
});
afterEach(async () => {
  for (const quota of running.splice(0)) await quota.beforeApplicationShutdown();
  jest.restoreAllMocks();
  await database.drop();
});

const instance = (events = '1000', bytes = '5000', pool = database.pool): DailyQuota => {
  registry = new Registry();
  const config = readConfig({ INGEST_EVENTS_PER_DAY: events, INGEST_BYTES_PER_DAY: bytes });
  const quota = new DailyQuota(pool, config, registry);
  running.push(quota);
  return quota;
};
const taking = (quota: DailyQuota, amount: Partial<Amount>, organization = 'acme'): Promise<unknown> =>
  quota.chargeWithinLimit(organization, { events: 0, bytes: 0, ...amount }).then((refusal) => refusal ?? 'taken');

describe('The daily quota', () => {
  it('is used up by events and by bytes, separately for each organization', async () => {
    const quota = instance();
    expect(await taking(quota, { events: 1_000 })).toBe('taken');
    const refused = (await taking(quota, { events: 1 })) as TooManyRequests;
    expect(refused).toBeInstanceOf(TooManyRequests);
    expect(refused.message).toBe('acme has used its quota of 1000 events per day; it resets at midnight UTC');
    expect(refused.retryAfterSeconds).toBe(12 * 3_600);
    expect(await taking(quota, { bytes: 5_000 })).toBe('taken');
    expect(await taking(quota, { bytes: 1 })).toMatchObject({ message: expect.stringContaining('5000 bytes per day') });
    expect(await taking(quota, { events: 1_000, bytes: 5_000 }, 'other')).toBe('taken');
    expect(await registry.metrics()).toMatch(
      /threat_protection_ingest_quota_refusals_total\{quota="events"\} 1\n[^]*quota="bytes"\} 1\n/,
    );
    expect(await registry.metrics()).toMatch(/threat_protection_ingest_quota_used_ratio\{quota="events"\} 1\n/);
  });

  it('is not charged for a rejected request, and is refunded for events that were not stored', async () => {
    const quota = instance();
    expect(await taking(quota, { events: 1_001 })).toBeInstanceOf(TooManyRequests);
    expect(await taking(quota, { events: 1_000 })).toBe('taken');
    quota.refund('acme', { events: 400, bytes: 0 });
    expect(await taking(quota, { events: 400 })).toBe('taken');
    expect(await taking(quota, { events: 1 })).toBeInstanceOf(TooManyRequests);
  });

  it('rejects amounts of which less is left, and charges them only if asked to', async () => {
    const quota = instance();
    await taking(quota, { events: 400 });
    const refusalOf = await quota.refuser('acme');
    expect(refusalOf({ events: 600, bytes: 5_000 })).toBeUndefined();
    expect(refusalOf({ events: 601, bytes: 0 })).toBeInstanceOf(TooManyRequests);
    expect(refusalOf({ events: 1, bytes: 5_001 })?.message).toContain('5000 bytes per day');
    quota.charge('acme', { events: 600, bytes: 0 });
    expect(refusalOf({ events: 1, bytes: 0 })).toBeInstanceOf(TooManyRequests);
    expect(await registry.metrics()).toMatch(/threat_protection_ingest_quota_refusals_total\{quota="events"\} 2\n/);
    for (const unlimited of [instance('0', '10'), instance('0', '0')])
      expect((await unlimited.refuser('acme'))({ events: 1_000_000, bytes: 10 })).toBeUndefined();
  });

  it('is shared by all instances and survives a restart', async () => {
    const [first, second] = [instance(), instance()];
    expect(await taking(first, { events: 600 })).toBe('taken');
    expect(await taking(second, { events: 300 })).toBe('taken');
    await first.beforeApplicationShutdown();
    await second.beforeApplicationShutdown();
    expect(await taking(second, { events: 101 })).toBeInstanceOf(TooManyRequests);
    const third = instance();
    expect(await taking(third, { events: 101 })).toBeInstanceOf(TooManyRequests);
    expect(await taking(third, { events: 100 })).toBe('taken');
    await third.beforeApplicationShutdown();
    expect(await readIngestUsage(database.pool, dayOf(NOON))).toEqual([
      { organization: 'acme', events: 1_000, bytes: 0 },
    ]);
  });

  it('is written to the database within about a second', async () => {
    const quota = instance();
    await taking(quota, { events: 7, bytes: 70 });
    const written = { organization: 'acme', events: 7, bytes: 70 };
    await eventuallyPasses(async () =>
      expect(await readIngestUsage(database.pool, dayOf(NOON), 'acme')).toEqual([written]),
    );
    expect(await readIngestUsage(database.pool, dayOf(NOON), 'other')).toEqual([]);
  });

  it('resets at midnight UTC', async () => {
    // Over a single connection, statements run in the order in which the quota sends them.
    const pool = createPool(database.url, () => {}, { ...NO_LIMITS, max: 1 });
    const quota = instance('1000', '5000', pool);
    for (const day of [-2, -1, 0]) {
      jest.spyOn(Date, 'now').mockReturnValue(NOON + day * MS_PER_DAY);
      expect(await taking(quota, { events: 1_000 })).toBe('taken');
      await quota.beforeApplicationShutdown();
    }
    // `test/read-models/expiry.spec.ts` deletes the rows from before yesterday.
    const days = await database.pool.query('select day from service.ingest_usage order by day');
    expect(days.rows.map(({ day }) => Number(day) - dayOf(NOON))).toEqual([-2, -1, 0]);
    await pool.end();
  });

  it('is stored although the usage of another organization can never be stored', async () => {
    const quota = instance();
    for (const organization of ['before', 'never\0', 'after']) quota.charge(organization, { events: 1, bytes: 10 });
    await quota.beforeApplicationShutdown();
    expect(await readIngestUsage(database.pool, dayOf(NOON))).toEqual(
      ['after', 'before'].map((organization) => ({ organization, events: 1, bytes: 10 })),
    );
  });

  it('of 0 means that there is no limit', async () => {
    const quota = instance('0', '0');
    expect(await taking(quota, { events: 1e9, bytes: 1e12 })).toBe('taken');
    expect(await taking(instance('0', '10'), { events: 1e9, bytes: 10 })).toBe('taken');
    expect(await taking(instance('10', '0'), { events: 11 })).toBeInstanceOf(TooManyRequests);
  });

  it('is counted in memory while the database is unavailable', async () => {
    const unavailablePool = createPool('postgres://127.0.0.1:9/none', () => {});
    const quota = instance('1000', '5000', unavailablePool);
    expect(await taking(quota, { events: 1_000 })).toBe('taken');
    expect(await taking(quota, { events: 1 })).toBeInstanceOf(TooManyRequests);
    await quota.beforeApplicationShutdown();
    await unavailablePool.end();
  });
});

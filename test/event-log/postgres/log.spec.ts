import { expect, it } from '@jest/globals';
import type { Batch } from '../../../src/event-log/event-log.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { createPool } from '../../../src/postgres/pool.js';
import { createDatabase, NO_LIMITS } from '../../support/postgres.js';
import { sentThreat, stored } from '../../support/upstream.js';

const DAY = Date.UTC(2026, 0, 1);

it.each([
  ['reaches the time of its last event', 0, 0],
  ['is not current as of a time after that of the next event, because the clock was set back', -5_000, -5_000],
  ['is not current as of a time after that of its last event, because the clock was set forward', 5_000, 0],
])('A full page of a subscription %s', async (_, laterBy, asOfBy) => {
  const database = await createDatabase();
  const log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  try {
    await log.appendAll(Array.from({ length: 3_001 }, (__, n) => stored(sentThreat(`t-${n}`))));
    const text =
      'update log.events set recorded_at = $1::bigint + case when position < 3000 then 0 else $2::bigint end';
    await database.pool.query(text, [DAY, laterBy]);
    const batches: Batch[] = [];
    const stop = new AbortController();
    const onBatch = async (batch: Batch): Promise<void> => {
      batches.push(batch);
      if (batches.length === 2) stop.abort();
    };
    await log.subscribe(-1n, onBatch, stop.signal);
    expect(batches.map(({ events }) => events.length)).toEqual([3_000, 2]);
    expect(batches[0]!.asOf).toBe(DAY + asOfBy);
    expect(batches[1]!.asOf).toBeGreaterThan(DAY + laterBy);
  } finally {
    await log.close();
    await database.drop();
  }
});

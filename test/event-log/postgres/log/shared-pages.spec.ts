import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { BEGINNING, type Batch, type EventLog, type RecordedEvent } from '../../../../src/event-log/event-log.js';
import { createPostgresLog } from '../../../../src/event-log/postgres/log.js';
import { READ_NEXT } from '../../../../src/event-log/postgres/writer.js';
import { createPool } from '../../../../src/postgres/pool.js';
import { eventually } from '../../../support/eventually.js';
import { newDatabase } from '../../../support/open-for-tests.js';
import { NO_LIMITS } from '../../../support/postgres.js';
import { sentThreat, stored } from '../../../support/upstream.js';

const database = newDatabase();
let log: EventLog;
let stop: AbortController;
let running: Promise<void>[];
const reading = jest.spyOn(READ_NEXT, 'run');

beforeEach(async () => {
  log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  stop = new AbortController();
  running = [];
  reading.mockClear();
});

afterEach(async () => {
  stop.abort();
  await Promise.all(running);
  await log.close();
});

const append = (from: number, count: number, content = 'a'): Promise<unknown> =>
  log.appendAll(
    Array.from({ length: count }, (_, n) =>
      stored(sentThreat(`t-${from + n}`, { asset: { type: 'URL', content: `${content}${from + n}.example` } })),
    ),
  );

/** Follows the log from the beginning. @param onBatch may delay the subscription */
const follow = (onBatch: (batch: Batch) => Promise<void> | void = () => {}): RecordedEvent[] => {
  const events: RecordedEvent[] = [];
  running.push(
    log.subscribe(
      BEGINNING,
      async (batch) => {
        events.push(...batch.events);
        await onBatch(batch);
      },
      stop.signal,
    ),
  );
  return events;
};

/** How many of the reads so far returned events. */
const readsWithEvents = async (): Promise<number> => {
  const pages = await Promise.allSettled(
    reading.mock.results.map(({ value }) => value as Promise<{ position: number | null }[]>),
  );
  return pages.filter((page) => page.status === 'fulfilled' && page.value[0]!.position !== null).length;
};

const ids = (events: readonly RecordedEvent[]): string[] => events.map(({ id }) => id);

describe('Subscriptions of one process to the log in PostgreSQL', () => {
  it('read each event once, and share the events themselves', async () => {
    await append(0, 7_000);
    const [one, other] = [follow(), follow()];
    await eventually('both have all events', () => one.length === 7_001 && other.length === 7_001);
    expect(ids(one)).toEqual(ids(await log.readAll(BEGINNING, 10_000)));
    expect(other.every((event, index) => event === one[index])).toBe(true);
    // Pages have at most 3,000 events.
    expect(await readsWithEvents()).toBe(3);
    await append(7_000, 10);
    await eventually('both have the new events', () => one.length === 7_011 && other.length === 7_011);
    expect(ids(other)).toEqual(ids(one));
  });

  it('wait for no slower subscription, which reads again what no longer fits in memory', async () => {
    await append(0, 12_000, 'a'.repeat(1_500));
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const slow = follow(() => released);
    const fast = follow();
    await eventually('the fast subscription has all events', () => fast.length === 12_001);
    const before = await readsWithEvents();
    expect(slow.length).toBeLessThan(12_001);
    release();
    await eventually('the slow subscription has all events', () => slow.length === 12_001);
    expect(ids(slow)).toEqual(ids(fast));
    expect(await readsWithEvents()).toBeGreaterThan(before);
  });

  it('forget a page once all are past it, so that a later subscription sees events as they have become', async () => {
    await append(0, 10);
    const [one, other] = [follow(), follow()];
    await eventually('both have all events', () => one.length === 11 && other.length === 11);
    // Both ask for the next page before a page is forgotten.
    await eventually('both wait', async () => reading.mock.calls.length > 4 && (await readsWithEvents()) > 0);
    await database.pool.query(`update log.events set data = '{"rewritten": true}' where position = 5`);
    const late = follow();
    await eventually('the late subscription has all events', () => late.length === 11);
    expect(late[5]!.data).toEqual({ rewritten: true });
  });

  it('read again after a failover that lost the end of the log, while another one hangs the whole time', async () => {
    await append(0, 8);
    let release = (): void => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const hanging = follow(() => released);
    await eventually('the other subscription hangs', () => hanging.length === 9);
    const fail = async ({ events }: Batch): Promise<void> => {
      if (events.length > 0) throw new Error('the write failed');
    };
    const failing = log.subscribe(8n, fail, stop.signal);
    await append(100, 4);
    await expect(failing).rejects.toThrow('the write failed');
    await database.pool.query('delete from log.events where position > 8');
    await append(200, 5);
    const again: RecordedEvent[] = [];
    running.push(log.subscribe(8n, async ({ events }) => void again.push(...events), stop.signal));
    await eventually('the subscription has the new end', () => again.length > 4);
    expect(ids(again)).toEqual(ids(await log.readAll(8n, 100)));
    release();
    await eventually('the other subscription has the new end', () => hanging.length > 13);
    expect(ids(hanging)).toEqual(ids(await log.readAll(BEGINNING, 100)));
  });

  it('all continue after a read that failed', async () => {
    reading.mockRejectedValueOnce(Object.assign(new Error('connection lost'), { code: '57P01' }));
    const [one, other] = [follow(), follow()];
    await append(0, 10);
    await eventually('both have all events', () => one.length === 11 && other.length === 11);
  });
});

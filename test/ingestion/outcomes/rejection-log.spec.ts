import { tmpdir } from 'node:os';
import { Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { KeyUses, readKeyUses } from '../../../src/api-keys/key-uses.js';
import { dayOf } from '../../../src/events/instant.js';
import { readCloudEvent } from '../../../src/ingestion/receive/cloud-event.js';
import {
  RejectionLog,
  type RejectionGroup,
  type RejectReason,
  sampleOf,
  addRejectedEvents,
  clearRejectedEvents,
  DELETE_EXCESS_REJECTIONS,
  listRejectedEvents,
  MAX_ROWS,
  type RejectedEvents,
} from '../../../src/ingestion/outcomes/rejection-log.js';
import { UsageLog } from '../../../src/ingestion/outcomes/usage-log.js';
import type { WatchPool } from '../../../src/read-models/pools.js';
import { startApp, type TestApp } from '../../support/app.js';
import { eventually } from '../../support/eventually.js';
import { bigintsIn } from '../../support/binary-array.js';

const BATCH = 'application/cloudevents-batch+json';
const AT = '2026-03-01T12:00:00.000Z';

let app: TestApp;
let key: string;
let ownKey: string;
const lines: string[] = [];
beforeAll(async () => {
  jest.spyOn(Logger.prototype, 'warn').mockImplementation((line) => void lines.push(String(line)));
  app = await startApp({ env: { DATA_DIR: tmpdir() } });
  key = await app.issueKey({ scopes: ['ingest'] });
  ownKey = await app.issueKey({ scopes: ['ingest'], organization: 'acme' });
});
afterAll(async () => {
  await app?.close();
  jest.restoreAllMocks();
});

const event = (id: string, type = 'ThreatDeleted', changes: object = {}): Record<string, unknown> => ({
  specversion: '1.0',
  id,
  source: 'https://upstream.example',
  type,
  time: AT,
  data: { organization: 'acme', threatId: id, deletedAt: AT, ...changes },
});
const send = async (events: unknown[], as = key): Promise<number> =>
  (await app.call('/v2/events', { key: as, json: events, headers: { 'content-type': BATCH } })).status;
const kept = (): Promise<RejectedEvents[]> => listRejectedEvents(app.pool);
const series = async (): Promise<string> => (await fetch(`${app.url}/metrics`)).text();

describe('Rejected events', () => {
  it('are counted by key, reason and type, with the first event as a sample', async () => {
    const sent = [
      event('good'),
      event('good'),
      event('no-threat-1', 'ThreatDeleted', { threatId: '' }),
      event('no-threat-2', 'ThreatDeleted', { threatId: '\0' }),
      event('mine', 'ApiKeyIssued'),
      event('what', 'Made\u001bUp'),
      event('late', 'Other'),
      { ...event('no-time'), time: undefined },
      7,
    ];
    expect(await send(sent)).toBe(200);
    expect(await send([event('good')])).toBe(200);
    expect(await send([event('theirs', 'ThreatDeleted', { organization: 'other' })], ownKey)).toBe(400);
    await eventually('the rejections are in the table', async () => (await kept()).length >= 6);
    const rows = await kept();
    const count = (reason: RejectReason): number =>
      rows.filter((row) => row.reason === reason).reduce((sum, row) => sum + row.count, 0);
    expect({
      data: count('data'),
      'own-type': count('own-type'),
      'unknown-type': count('unknown-type'),
      attributes: count('attributes'),
      'not-permitted': count('not-permitted'),
    }).toEqual({ data: 1, 'own-type': 1, 'unknown-type': 2, attributes: 3, 'not-permitted': 1 });
    expect(new Set(rows.map(({ keyId }) => keyId)).size).toBe(2);
    const sample = rows.find(({ reason }) => reason === 'data')!.sample;
    expect(sample).toMatchObject({ id: 'no-threat-1', type: 'ThreatDeleted' });
    expect(sample.issues[0]).toMatch(/^data\.threatId must be /);
    expect(JSON.parse(sample.data!)).toMatchObject({ organization: 'acme', threatId: '' });

    let metrics = '';
    await eventually('the scraped metrics have all batches', async () => {
      metrics = await series();
      return metrics.includes('threat_protection_ingest_batch_events_count 3\n');
    });
    for (const line of [
      'threat_protection_ingest_events_total{type="ThreatDeleted",outcome="accepted",reason=""} 1',
      'threat_protection_ingest_events_total{type="ThreatDeleted",outcome="duplicate",reason=""} 2',
      'threat_protection_ingest_events_total{type="ThreatDeleted",outcome="rejected",reason="data"} 1',
      'threat_protection_ingest_events_total{type="ThreatDeleted",outcome="rejected",reason="not-permitted"} 1',
      'threat_protection_ingest_events_total{type="other",outcome="rejected",reason="unknown-type"} 2',
      'threat_protection_ingest_events_total{type="other",outcome="rejected",reason="own-type"} 1',
      'threat_protection_ingest_batch_events_bucket{le="1"} 2',
      'threat_protection_ingest_batch_events_count 3',
    ])
      expect(metrics).toContain(`${line}\n`);
    expect(metrics).toMatch(/^threat_protection_ingest_bytes_total [1-9]\d{2,}$/m);
    expect(metrics).not.toContain('Made');
    expect(metrics).toMatch(/^threat_protection_log_append_duration_seconds_count\{outcome="stored"\} [1-9]/m);
    expect(metrics).toMatch(/^threat_protection_log_append_duration_seconds_count\{outcome="failed"\} 0$/m);
    expect(metrics).toMatch(/^threat_protection_data_dir_bytes\{state="(free|size)"\} [1-9]/m);
  });

  it('are deleted when the operator clears them, and stored again afterwards', async () => {
    expect(await clearRejectedEvents(app.pool)).toBeGreaterThan(0);
    expect(await kept()).toEqual([]);
    await send([event('again', 'Other')]);
    await eventually('the rejection is in the table', async () => (await kept()).length === 1);
    expect((await kept())[0]).toMatchObject({ day: dayOf(Date.now()), count: 1, sample: { id: 'again' } });
  });

  it('are logged at most once a second', async () => {
    const rejections = new RejectionLog(app.pool as WatchPool);
    lines.length = 0;
    for (let n = 0; n < 100; n += 1) rejections.add('acme', 'key_a', [groupOf({ id: 'a' })]);
    expect(lines).toEqual([
      '1 events rejected, most recently from key_a: attributes (type other); "rejected list" shows them',
    ]);
    await rejections.beforeApplicationShutdown();
    expect((await kept()).find(({ keyId }) => keyId === 'key_a')).toMatchObject({ count: 100 });
  });

  const rowsOf = (day: number, rows: number, owner = 'acme'): RejectedEvents[] =>
    Array.from({ length: rows }, (_, n) => ({
      owner,
      day,
      keyId: `key_${n}`,
      reason: 'data',
      type: 'other',
      count: 1,
      lastAt: day,
      sample: sampleOf(groupOf({ id: 'a' })),
    }));

  /** Adds rows in parts, because one statement for all rows may exceed the timeout of the pool. */
  const add = async (rows: readonly RejectedEvents[]): Promise<void> => {
    for (let from = 0; from < rows.length; from += 1_000)
      await addRejectedEvents(app.pool, rows.slice(from, from + 1_000));
  };

  it('are limited to 10,000 rows, of which the oldest are deleted first', async () => {
    await clearRejectedEvents(app.pool);
    await add(rowsOf(1, MAX_ROWS));
    await add(rowsOf(2, 3));
    const rows = await kept();
    const counted = await app.pool.query('select count(*)::int as n from service.rejections');
    expect(counted.rows).toEqual([{ n: MAX_ROWS }]);
    expect(rows.filter(({ day }) => day === 2)).toHaveLength(3);
  });

  it('lose only rows of the owner that caused more than 10,000 rows', async () => {
    const owners = ['aaa', 'zzz', 'middle'];
    for (const flooding of owners) {
      await clearRejectedEvents(app.pool);
      const others = owners.filter((owner) => owner !== flooding);
      await add([...rowsOf(1, 50, others[0]), ...rowsOf(2, 60, others[1]), ...rowsOf(2, MAX_ROWS, flooding)]);
      const rows = await kept();
      expect(owners.map((name) => rows.filter(({ owner }) => owner === name).length)).toEqual(
        owners.map((name) => (name === flooding ? MAX_ROWS - 110 : name === others[0] ? 50 : 60)),
      );
    }
    await clearRejectedEvents(app.pool);
  });

  it('are stored although a row of another owner can never be stored, as are usage and uses of keys', async () => {
    const registry = new Registry();
    const pool = app.pool as WatchPool;
    const rejections = new RejectionLog(pool, registry);
    const usage = new UsageLog(pool, registry);
    const uses = new KeyUses(pool, registry);
    for (const owner of ['before', 'never\0', 'after']) {
      rejections.add(owner, `key_of_${owner}`, [groupOf({ id: 'a' })]);
      usage.add(owner, 'rejected', 'other', 1);
      uses.add(`key_of_${owner}`);
    }
    // A second flush neither repeats the valid rows nor tries the invalid row again.
    for (const log of [rejections, usage, uses, rejections, usage, uses]) await log.beforeApplicationShutdown();
    const owners = ['after', 'before'];
    const stored = async (sql: string): Promise<object[]> => (await app.pool.query<object>(sql, [owners])).rows;
    expect(
      await stored('select owner, count as n from service.rejections where owner = any($1) order by owner'),
    ).toEqual(owners.map((owner) => ({ owner, n: 1 })));
    expect(
      await stored('select owner, events as n from service.event_usage where owner = any($1) order by owner'),
    ).toEqual(owners.map((owner) => ({ owner, n: 1 })));
    const used = await readKeyUses(app.pool);
    expect(owners.map((owner) => used.has(`key_of_${owner}`))).toEqual([true, true]);
    const metrics = await registry.metrics();
    for (const task of ['write rejected events', 'write usage', 'write key uses'])
      expect(metrics).toContain(`threat_protection_background_failures_total{task="${task}"} 1\n`);
  });

  it('are counted once if only the deletion of old ones fails, which is reported', async () => {
    const registry = new Registry();
    const rejections = new RejectionLog(app.pool as WatchPool, registry);
    const deletion = jest.spyOn(DELETE_EXCESS_REJECTIONS, 'run').mockRejectedValueOnce(new Error('timeout'));
    rejections.add('acme', 'key_once', [groupOf({ id: 'a' })]);
    for (let flush = 0; flush < 2; flush += 1) await rejections.beforeApplicationShutdown();
    deletion.mockRestore();
    expect((await kept()).find(({ keyId }) => keyId === 'key_once')).toMatchObject({ count: 1 });
    const failures = (task: string, n: number): string =>
      `threat_protection_background_failures_total{task="${task}"} ${n}\n`;
    const metrics = await registry.metrics();
    expect(metrics).toContain(failures('write rejected events', 0));
    expect(metrics).toContain(failures('delete old rejected events', 1));
  });

  it('take bounded memory while the database does not respond, and are stored once it does', async () => {
    let isAway = true;
    let stored: number[] = [];
    const query = ({ values }: { values: unknown[] }): Promise<object> => {
      if (isAway) return Promise.reject(new Error('away'));
      if (values.length > 5) stored = bigintsIn(values[5]);
      return Promise.resolve({ rows: [] });
    };
    const connection = {
      query: () => Promise.resolve({ command: 'DELETE', rowCount: 0, rows: [] }),
      release: () => {},
    };
    const rejections = new RejectionLog({ query, connect: () => Promise.resolve(connection) } as never);
    for (let n = 0; n < 1_500; n += 1) rejections.add('acme', `key_${n}`, [groupOf({ id: 'a' })]);
    await rejections.beforeApplicationShutdown();
    rejections.add('acme', 'key_0', [groupOf({ id: 'a' })]);
    isAway = false;
    await rejections.beforeApplicationShutdown();
    expect(stored).toHaveLength(1_000);
    expect(stored[0]).toBe(2);
  });
});

const groupOf = (value: object): RejectionGroup => {
  const read = readCloudEvent(value, Date.parse(AT), true);
  return { reason: 'attributes', type: 'other', count: 1, event: read, issues: read.issues };
};

describe('The sample of a rejected event', () => {
  const sizes = (data: unknown): number => Buffer.byteLength(sampleOf(groupOf({ id: 'a', data })).data!);

  it('contains at most 2 KiB of the data, whatever its structure', () => {
    expect(sizes('x'.repeat(1_000_000))).toBeLessThanOrEqual(2_048);
    expect(sizes('é'.repeat(1_000_000))).toBeLessThanOrEqual(2_048);
    expect(sizes(Array.from({ length: 100_000 }, () => ({ a: 'ü'.repeat(300) })))).toBeLessThanOrEqual(2_048);
    const wide = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`ключ${n}`, n]));
    expect(sizes(wide)).toBeLessThanOrEqual(2_048);
    expect(sizes({ a: 1 })).toBe(7);
  });

  it('truncates the other texts of the sender', () => {
    const long = 'x'.repeat(100_000);
    const sample = sampleOf(groupOf({ id: long, source: long, type: long }));
    expect(JSON.stringify(sample).length).toBeLessThan(8_192);
  });

  it('contains no half of a surrogate pair', () => {
    const long = `a${'😀'.repeat(1_000)}`;
    const { id, source, type } = sampleOf(groupOf({ id: long, source: long, type: long }));
    for (const text of [id!, source, type]) expect(text.isWellFormed()).toBe(true);
  });
});

import { beforeAll, describe, expect, it } from '@jest/globals';
import { Expiry } from '../../src/read-models/expiry.js';
import { ADD_EVENT_USAGE, type EventUsage, KEPT_DAYS, UsageLog } from '../../src/ingestion/outcomes/usage-log.js';
import { RejectionLog } from '../../src/ingestion/outcomes/rejection-log.js';
import { dayOf, formatDay } from '../../src/events/instant.js';
import { DailyQuota, ADD_INGEST_USAGE } from '../../src/quotas/daily-quota.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import type { ApiResponse } from '../support/call.js';
import { cloudEvent, sent, sentThreat } from '../support/upstream.js';

const AT = '2026-03-01T12:00:00.000Z';
const TODAY = formatDay(dayOf(Date.now()));

const app = sharedApp({ env: { INGEST_EVENTS_PER_DAY: '1000', INGEST_BYTES_PER_DAY: '0' } });
const projecting = sharedProjecting(app);
/** Keys: two of acme, one of globex, and two without an organization. */
const keys: Record<'acme' | 'second' | 'globex' | 'upstream' | 'other', string> = {} as never;
beforeAll(async () => {
  const key = (organization?: string) => app.issueKey({ organization, scopes: ['ingest'] });
  for (const name of ['acme', 'second', 'globex', 'upstream', 'other'] as const)
    keys[name] = await key(name === 'second' ? 'acme' : name === 'acme' || name === 'globex' ? name : undefined);
});

const threat = (organization: string, threatId: string, data: object = {}): Record<string, unknown> =>
  cloudEvent(sentThreat(threatId, { organization, ...data }, threatId));
const send = (key: string, events: readonly unknown[], query = ''): Promise<ApiResponse> =>
  app.call(`/v2/events${query}`, {
    key,
    json: events,
    headers: { 'content-type': 'application/cloudevents-batch+json' },
  });
const ask = async (key: string, path: string): Promise<ApiResponse['body']> => {
  for (const buffer of [RejectionLog, UsageLog, DailyQuota])
    await app.app.get<RejectionLog | UsageLog | DailyQuota>(buffer).beforeApplicationShutdown();
  const { status, body } = await app.call(`/v2/events/${path}`, { key });
  expect([path, status, body]).toEqual([path, 200, body]);
  return body;
};
const used = async (key: string): Promise<object> =>
  Object.fromEntries(
    (await ask(key, 'usage')).usage.map(({ day, type, outcome, events }: Record<string, string>) => [
      `${day === TODAY ? 'today' : day} ${type} ${outcome}`,
      events,
    ]),
  );

describe('GET /v2/events/usage', () => {
  it('counts the events of the organization’s keys by day, type and outcome, and returns the remaining quota', async () => {
    await send(keys.acme, [threat('acme', 't-1'), threat('acme', 't-1'), threat('acme', 't-2'), { type: 'x' }]);
    await send(keys.second, [threat('acme', 't-1'), threat('acme', 't-3', { status: 7 })]);
    await send(keys.globex, [threat('globex', 't-1')]);
    // A dry run is not counted as usage.
    await send(keys.acme, [threat('acme', 't-9'), threat('acme', 't-1'), {}], '?dryRun=true');
    const ofAcme = {
      'today ThreatStatusChanged accepted': 2,
      'today ThreatStatusChanged duplicate': 2,
      'today ThreatStatusChanged rejected': 1,
      'today other rejected': 1,
    };
    expect(await used(keys.acme)).toEqual(ofAcme);
    expect(await used(keys.second)).toEqual(ofAcme);
    expect(await used(keys.globex)).toEqual({ 'today ThreatStatusChanged accepted': 1 });
    const remainingQuota = async (): Promise<unknown> => (await ask(keys.acme, 'usage')).quota;
    const quota = (events: number): object => ({
      events: { limit: 1_000, left: events },
      resetsAt: `${formatDay(dayOf(Date.now()) + 1)}T00:00:00.000Z`,
    });
    expect(await remainingQuota()).toEqual(quota(998));
    // Counts of another instance are included.
    await ADD_INGEST_USAGE.runEach(app.pool, [{ organization: 'acme', events: 100, bytes: 0 }], {
      day: dayOf(Date.now()),
    });
    expect(await remainingQuota()).toEqual(quota(898));
  });

  it('counts only the events of the key, without a quota, for a key without an organization', async () => {
    await send(keys.upstream, [threat('acme', 't-4')]);
    expect(await used(keys.upstream)).toEqual({ 'today ThreatStatusChanged accepted': 1 });
    expect(await ask(keys.other, 'usage')).toEqual({ usage: [] });
  });

  it('returns a range of days within the last 90 days', async () => {
    const today = dayOf(Date.now());
    const row = (daysAgo: number): EventUsage => ({
      owner: 'globex',
      day: today - daysAgo,
      type: 'ReportFiled',
      outcome: 'accepted',
      events: 10 + daysAgo,
    });
    await ADD_EVENT_USAGE.runEach(app.pool, [1, 2, KEPT_DAYS - 1, KEPT_DAYS].map(row));
    const days = async (query = ''): Promise<number[]> =>
      (await ask(keys.globex, `usage${query}`)).usage
        .filter(({ type }: EventUsage) => type === 'ReportFiled')
        .map(({ events }: EventUsage) => events);
    expect(await days()).toEqual([99, 12, 11]);
    expect(await days(`?from=${formatDay(today - 2)}&to=${formatDay(today - 2)}`)).toEqual([12]);
    expect(await days('?from=2001-01-01')).toEqual([99, 12, 11]);
    for (const query of ['from=2026-02-30', 'to=x', `from=${formatDay(today)}&to=${formatDay(today - 1)}`])
      expect([query, (await app.call(`/v2/events/usage?${query}`, { key: keys.globex })).status]).toEqual([query, 400]);
    expect(await app.app.get(Expiry).round()).toBe(600_000);
    const { rows } = await app.pool.query('select from service.event_usage where day <= $1', [today - KEPT_DAYS]);
    expect(rows).toEqual([]);
  });
});

describe('GET /v2/events/rejected', () => {
  it('lists the rejected events of the sender only, with counts and samples, by page and by filter', async () => {
    const wrong = (n: number): object => threat('acme', `w-${n}`, { status: n });
    await send(keys.second, [wrong(1), wrong(2), cloudEvent({ ...sent('ReportDeleted', {}), id: 'r-1' })]);
    await send(keys.upstream, [{ ...threat('acme', 'u-1'), time: 'yesterday' }]);
    const all = await ask(keys.acme, 'rejected');
    const seen = all.items.map(({ reason, type, count }: Record<string, string>) => `${reason} ${type} ${count}`);
    expect(seen.sort()).toEqual(['data ReportDeleted 1', 'data ThreatStatusChanged 3', 'unknown-type other 1']);
    const { items } = await ask(keys.acme, 'rejected?reason=data&type=ReportDeleted');
    expect(items).toEqual([
      {
        day: TODAY,
        keyId: expect.stringMatching(/^key_/),
        reason: 'data',
        type: 'ReportDeleted',
        count: 1,
        lastAt: expect.stringContaining(TODAY),
        sample: {
          id: 'r-1',
          source: 'urn:test:upstream',
          type: 'ReportDeleted',
          data: '{}',
          issues: expect.arrayContaining([{ message: expect.stringContaining('data.reportId') }]),
        },
      },
    ]);
    const pages: unknown[] = [];
    for (let path = 'rejected?limit=1'; ;) {
      const page = await ask(keys.second, path);
      pages.push(...page.items);
      if (page.nextCursor === undefined) break;
      path = `rejected?limit=1&cursor=${page.nextCursor}`;
    }
    expect(pages).toEqual(all.items.length === 3 ? (await ask(keys.acme, 'rejected')).items : 'all pages');
    expect((await ask(keys.acme, `rejected?from=${formatDay(dayOf(Date.now()) + 1)}`)).items).toEqual([]);
    expect((await ask(keys.upstream, 'rejected')).items).toHaveLength(1);
    for (const key of [keys.globex, keys.other]) expect(await ask(key, 'rejected')).toEqual({ items: [] });
  });

  it.each(['reason=bad-luck', 'type=Odd', 'from=now', 'limit=0', 'limit=101', 'cursor=WzEsMl0', 'cursor=x'])(
    'returns 400 for the query %s',
    async (query) => {
      expect((await app.call(`/v2/events/rejected?${query}`, { key: keys.acme })).status).toBe(400);
    },
  );
});

describe('GET /v2/events/parked', () => {
  it('lists parked events to the organization of the event, and to the key without an organization that sent the event', async () => {
    const keyIdOf = async (key: string): Promise<string> => {
      await send(key, [{}]);
      return (await ask(key, 'rejected')).items[0].keyId;
    };
    const upstream = await keyIdOf(keys.upstream);
    const append = (organization: string, n: number, metadata: object = {}): Promise<unknown> =>
      app.log.append(`threat-${organization}:p-${n}`, 'any', [
        {
          id: `00000000-0000-4000-8000-00000000000${n}`,
          type: 'ThreatStatusChanged',
          data: { organization, odd: true, text: '\u0001' },
          metadata,
        },
      ]);
    await append('acme', 1, { source: 'urn:x', id: 'p-1', time: AT, keyId: upstream });
    await append('acme', 2);
    await append('globex', 3, { source: 'urn:x', id: 'p-3' });
    await projecting.reached();
    const listed = async (key: string, query = ''): Promise<unknown[]> => (await ask(key, `parked${query}`)).items;
    const ofAcme = await listed(keys.acme);
    expect(ofAcme).toHaveLength(4);
    expect(ofAcme.at(-1)).toEqual({
      source: 'urn:x',
      id: 'p-1',
      type: 'ThreatStatusChanged',
      projection: 'metrics',
      since: expect.stringContaining('T'),
      storedAt: expect.stringContaining('T'),
      attempts: 1,
      reason: expect.stringContaining('data.threatId'),
    });
    expect(ofAcme[0]).toMatchObject({ source: null, id: null });
    expect(await listed(keys.upstream)).toEqual(ofAcme.slice(2));
    expect(await listed(keys.globex)).toHaveLength(2);
    expect(await listed(keys.other)).toEqual([]);
    const first = await ask(keys.acme, 'parked?limit=3');
    expect([...first.items, ...(await listed(keys.acme, `?limit=3&cursor=${first.nextCursor}`))]).toEqual(ofAcme);
  });

  it('reveals nothing about the database if a database error is the reason', async () => {
    const text = `update read.parked_events set unreadable = false, reason = 'relation "x" is secret' where organization = 'globex'`;
    await app.pool.query(text);
    expect(JSON.stringify(await ask(keys.globex, 'parked'))).not.toContain('secret');
  });
});

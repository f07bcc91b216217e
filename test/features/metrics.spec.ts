import { DESCRIPTION } from '../../src/http/reference/description.js';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { newEvent } from '../../src/event-log/new-event.js';
import { disputesStream } from '../../src/events/streams.js';
import { MAX_DAYS, MAX_TYPES } from '../../src/metrics/count-sql.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { report as send, type Sent, sent } from '../support/upstream.js';

const app = sharedApp();
sharedProjecting(app);
let ingest: string;
let nobody: string;

beforeAll(async () => {
  ingest = await app.issueKey({ scopes: ['ingest'] });
  nobody = await app.issueKey({ organization: 'nobody' });
});

/** Sends events to the endpoint and returns once they are counted by both projections. */
const report = async (...events: Sent[]): Promise<void> => {
  const after = await send(app, ingest, events);
  for (const path of ['metrics', 'metrics/false-positives'])
    expect((await app.call(`/v2/organization/${path}`, { key: nobody, after })).status).toBe(200);
};

const ask = (key: string, query = '') => app.call(`/v2/organization/metrics${query}`, { key });

const get = (key: string, path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${app.url}/v2/organization/${path}`, { headers: { 'x-api-key': key, ...headers } });

/** Inserts counts of threats by day and type, as the projection would write them. */
const fillDays = (organization: string, days: number, types: number, name = 'TYPE_'): Promise<unknown> =>
  app.pool.query(
    `insert into read.type_days select $1, '', day, $4 || n, 1
     from generate_series(19000, 19000 + $2::int - 1) day, generate_series(1, $3::int) n`,
    [organization, days, types, name],
  );

const asset = (type: string) => ({ type, content: 'evil.example' });
const dated = (createdAt: string, updatedAt = createdAt) => ({ createdAt, updatedAt });
const threat = (organization: string, threatId: string, status: string, type: string, createdAt: string): Sent =>
  sent('ThreatStatusChanged', { organization, threatId, asset: asset(type), status, ...dated(createdAt) });
const registered = (organization: string, brand: string): Sent =>
  sent('BrandRegistered', { organization, brand, updatedAt: '2026-01-01T00:00:00Z' });
const flag = (organization: string, enabled: boolean, updatedAt = '2026-01-01T00:00:00Z'): Sent =>
  sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled, updatedAt });

const NOTHING = {
  reports: 0,
  newThreats: 0,
  threatsWatchlisted: 0,
  takedownsFiled: 0,
  takedownsCompleted: 0,
  domainThreats: 0,
  twitterThreats: 0,
  telegramThreats: 0,
  otherThreats: 0,
};

describe('GET /v2/organization/metrics', () => {
  it('counts the organization’s own records by type and day, dated by creation', async () => {
    const acme = { organization: 'acme' };
    const key = await app.issueKey(acme);
    const later = dated('2026-03-02T00:00:00Z', '2026-03-05T00:00:00Z');
    await report(
      threat('acme', 't1', 'BLOCKED', 'URL', '2026-03-01T23:59:59.999Z'),
      threat('acme', 't2', 'APPROVED', 'PAGE', '2026-03-02T00:00:00.000Z'),
      threat('acme', 't3', 'AUTO_APPROVED', 'TWITTER', '2026-03-02T12:00:00Z'),
      threat('acme', 't4', 'BLOCKED', 'TELEGRAM', '2026-03-02T12:00:00Z'),
      threat('acme', 't5', 'BLOCKED', 'ADDRESS', '2026-03-03T00:00:00Z'),
      threat('acme', 't6', 'BLOCKED', 'ADDRESS', '2026-03-03T00:00:00Z'),
      threat('acme', 't7', 'WATCHLISTED', 'URL', '2026-03-02T00:00:00Z'),
      threat('acme', 't8', 'PENDING', 'URL', '2026-03-02T00:00:00Z'),
      threat('acme-2', 't1', 'BLOCKED', 'URL', '2026-03-02T00:00:00Z'),
      sent('ReportFiled', { ...acme, reportId: 'r1', brands: ['x'], ...dated('2026-03-02T00:00:00Z') }),
      sent('TakedownFiled', { ...acme, takedownId: 'k1', brand: 'x', asset: asset('URL'), status: 'TODO', ...later }),
      sent('TakedownStatusChanged', { ...acme, takedownId: 'k2', asset: asset('URL'), status: 'COMPLETED', ...later }),
    );
    const all = await ask(key);
    expect(all.status).toBe(200);
    expect(all.body).toEqual({
      metrics: {
        reports: 1,
        newThreats: 6,
        threatsWatchlisted: 1,
        takedownsFiled: 2,
        takedownsCompleted: 1,
        domainThreats: 2,
        twitterThreats: 1,
        telegramThreats: 1,
        otherThreats: 2,
      },
      blockedByType: [
        { type: 'ADDRESS', count: 2 },
        { type: 'PAGE', count: 1 },
        { type: 'TELEGRAM', count: 1 },
        { type: 'TWITTER', count: 1 },
        { type: 'URL', count: 1 },
      ],
      blockedByDay: [
        { date: '2026-03-01', count: 1 },
        { date: '2026-03-02', count: 3 },
        { date: '2026-03-03', count: 2 },
      ],
    });
    const day = await ask(key, '?startDate=2026-03-02&endDate=2026-03-02');
    expect(day.body.metrics).toMatchObject({ newThreats: 3, reports: 1, takedownsFiled: 2, threatsWatchlisted: 1 });
    const edge = await ask(key, '?startDate=2026-03-01T23:59:59.999Z&endDate=2026-03-02T00:00:00.000Z');
    expect(edge.body.blockedByDay).toEqual([
      { date: '2026-03-01', count: 1 },
      { date: '2026-03-02', count: 1 },
    ]);
    const offset = await ask(key, '?startDate=2026-03-02T01:00:00+01:00&endDate=2026-03-02T00:00:00');
    expect(offset.body.metrics.newThreats).toBe(1);
  });

  it('returns zeros if there is nothing to count, and excludes other organizations', async () => {
    const { body } = await ask(await app.issueKey({ organization: 'empty' }));
    expect(body).toEqual({ metrics: NOTHING, blockedByType: [], blockedByDay: [] });
  });

  it('counts for a brand the status entries and reports that name it, and its takedowns dated by last change', async () => {
    const organization = 'brandy';
    const key = await app.issueKey({ organization });
    const entry = (changeId: string, status: string, createdAt: string, brand = 'wallet'): Sent =>
      sent('AssetStatusChanged', {
        changeId,
        asset: asset('URL'),
        status,
        brandReviews: [{ organization, brand }],
        createdAt,
      });
    await report(
      flag(organization, true),
      registered(organization, 'wallet'),
      entry('c1', 'BLOCKED', '2026-03-01T00:00:00Z'),
      entry('c2', 'UNKNOWN', '2026-03-02T00:00:00Z'),
      entry('c3', 'BLOCKED', '2026-03-03T00:00:00Z'),
      entry('c4', 'BLOCKED', '2026-03-03T00:00:00Z', 'other'),
      threat(organization, 't1', 'BLOCKED', 'URL', '2026-03-01T00:00:00Z'),
      threat(organization, 't2', 'WATCHLISTED', 'URL', '2026-03-01T00:00:00Z'),
      sent('ReportFiled', {
        organization,
        reportId: 'r1',
        brands: ['wallet', 'wallet'],
        ...dated('2026-03-01T00:00:00Z'),
      }),
      sent('TakedownFiled', {
        organization,
        takedownId: 'k1',
        brand: 'wallet',
        asset: asset('URL'),
        status: 'COMPLETED',
        ...dated('2026-03-01T00:00:00Z', '2026-03-09T00:00:00Z'),
      }),
    );
    const all = await ask(key, '?brandSlug=wallet');
    expect(all.body.metrics).toEqual({
      ...NOTHING,
      reports: 1,
      newThreats: 2,
      domainThreats: 2,
      takedownsFiled: 1,
      takedownsCompleted: 1,
    });
    expect(all.body.blockedByDay.map(({ date }: { date: string }) => date)).toEqual(['2026-03-01', '2026-03-03']);
    const early = await ask(key, '?brandSlug=wallet&endDate=2026-03-08');
    expect(early.body.metrics).toMatchObject({ takedownsFiled: 0, takedownsCompleted: 0, reports: 1 });
    await report(
      sent('AssetStatusChangeDeleted', { changeId: 'c1', asset: asset('URL'), deletedAt: '2026-03-01T00:00:00Z' }),
    );
    expect((await ask(key, '?brandSlug=wallet')).body.metrics.newThreats).toBe(1);
  });

  it('returns 403 for a brand without the feature flag, 404 for an unknown brand, and prefers 400 for an invalid date to both', async () => {
    const organization = 'flagged';
    const key = await app.issueKey({ organization });
    expect(await ask(key, '?brandSlug=wallet')).toMatchObject({
      status: 403,
      body: { code: 'FORBIDDEN', message: 'Brand metrics are not enabled for this organization' },
    });
    expect((await ask(key, '?brandSlug=wallet&startDate=x')).status).toBe(400);
    await report(
      flag(organization, true),
      registered('brandy', 'theirs'),
      registered(organization, 'gone'),
      sent('BrandRemoved', { organization, brand: 'gone', updatedAt: '2026-01-02T00:00:00Z' }),
    );
    for (const brand of ['theirs', 'gone', 'never', 'Not A Slug', '%00', '%F0%9F%A6%8A'])
      expect(await ask(key, `?brandSlug=${brand}`)).toMatchObject({
        status: 404,
        body: { code: 'NOT_FOUND', message: 'Brand not found' },
      });
    await report(flag(organization, false, '2026-01-03T00:00:00Z'));
    expect((await ask(key, '?brandSlug=never')).status).toBe(403);
  });

  it.each([
    '?startDate=2026-02-30',
    '?endDate=',
    '?startDate',
    '?startDate=2026-01-01&startDate=2026-01-02',
    '?endDate=1767225600000',
  ])('returns 400 with the message about date formats, and names the parameter, for %s', async (query) => {
    const { status, body } = await ask(await app.issueKey({ organization: 'acme' }), query);
    const message = 'Invalid date format, use ISO 8601 format';
    expect([status, body.code, body.message]).toEqual([400, 'BAD_REQUEST', message]);
    expect(body.issues).toEqual([{ message: `${/\w+/.exec(query)![0]}: ${message}` }]);
  });

  it.each(['?brandSlug=', '?brandSlug=a&brandSlug=b', '?startDate=2026-01-02&endDate=2026-01-01'])(
    'returns 400 for %s',
    async (query) => {
      const { status, body } = await ask(await app.issueKey({ organization: 'acme' }), query);
      expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    },
  );

  it('ignores unknown parameters', async () => {
    expect((await ask(await app.issueKey({ organization: 'acme' }), '?page=2&x=1&x=2')).status).toBe(200);
  });

  it('counts future records only if no date is given', async () => {
    const key = await app.issueKey({ organization: 'future' });
    const soon = new Date(Date.now() + 3_600_000).toISOString();
    await report(threat('future', 't1', 'BLOCKED', 'URL', soon));
    expect((await ask(key)).body.metrics.newThreats).toBe(1);
    expect((await ask(key, '?startDate=2026-01-01')).body.metrics.newThreats).toBe(0);
    expect((await ask(key, '?startDate=2999-01-01')).body.metrics.newThreats).toBe(0);
  });
});

describe('GET /v2/organization/metrics/timeline', () => {
  const timelineOf = (key: string, query: string) => app.call(`/v2/organization/metrics/timeline?${query}`, { key });

  it('returns every interval of the range, cut at its ends, with counts that add up to the metrics', async () => {
    const organization = 'timely';
    const key = await app.issueKey({ organization });
    await report(
      threat(organization, 't1', 'BLOCKED', 'URL', '2026-03-01T11:59:59.999Z'),
      threat(organization, 't2', 'BLOCKED', 'URL', '2026-03-01T12:00:00.000Z'),
      threat(organization, 't3', 'APPROVED', 'PAGE', '2026-03-01T23:59:59.999Z'),
      threat(organization, 't4', 'BLOCKED', 'TWITTER', '2026-03-16T10:00:00.000Z'),
      threat(organization, 't5', 'BLOCKED', 'TWITTER', '2026-03-16T10:00:00.001Z'),
      threat(organization, 't6', 'WATCHLISTED', 'URL', '2026-03-04T10:00:00Z'),
    );
    const nothing = { reports: 0, newThreats: 0, threatsWatchlisted: 0, takedownsFiled: 0, takedownsCompleted: 0 };
    const { status, headers, body } = await timelineOf(
      key,
      'startDate=2026-03-01T12:00:00Z&endDate=2026-03-16T10:00:00Z&interval=week',
    );
    expect(status).toBe(200);
    expect(Date.parse(headers.get('x-as-of')!)).toBeGreaterThan(0);
    expect(body).toEqual({
      window: { startDate: '2026-03-01T12:00:00.000Z', endDate: '2026-03-16T10:00:00.000Z' },
      interval: 'week',
      points: [
        {
          ...nothing,
          start: '2026-03-01T12:00:00.000Z',
          end: '2026-03-01T23:59:59.999Z',
          newThreats: 2,
          byType: { PAGE: 1, URL: 1 },
        },
        {
          ...nothing,
          start: '2026-03-02T00:00:00.000Z',
          end: '2026-03-08T23:59:59.999Z',
          threatsWatchlisted: 1,
          byType: {},
        },
        { ...nothing, start: '2026-03-09T00:00:00.000Z', end: '2026-03-15T23:59:59.999Z', byType: {} },
        {
          ...nothing,
          start: '2026-03-16T00:00:00.000Z',
          end: '2026-03-16T10:00:00.000Z',
          newThreats: 1,
          byType: { TWITTER: 1 },
        },
      ],
    });
    const all = await timelineOf(key, 'interval=quarter');
    expect(all.body.window.startDate).toBe('2026-01-01T00:00:00.000Z');
    expect(Math.abs(Date.parse(all.body.window.endDate) - Date.now())).toBeLessThan(60_000);
    expect(all.body.points[0]).toMatchObject({ newThreats: 5, end: '2026-03-31T23:59:59.999Z' });
  });

  it('returns one point of zeros if no record was ever counted, and no points if the range begins in the future', async () => {
    const key = await app.issueKey({ organization: 'empty' });
    const { body } = await timelineOf(key, 'endDate=2026-02-10&interval=month');
    expect(body.window).toEqual({ startDate: '2026-02-01T00:00:00.000Z', endDate: '2026-02-10T23:59:59.999Z' });
    expect(body.points).toMatchObject([{ start: '2026-02-01T00:00:00.000Z', newThreats: 0, byType: {} }]);
    expect((await timelineOf(key, 'startDate=2999-01-01')).body.points).toEqual([]);
  });

  it('returns 400 for more than 3,660 points', async () => {
    const key = await app.issueKey({ organization: 'empty' });
    const longest = await timelineOf(key, 'startDate=2016-01-01&endDate=2026-01-07');
    expect([longest.status, longest.body.points.length]).toEqual([200, 3_660]);
    const { status, body } = await timelineOf(key, 'startDate=2016-01-01&endDate=2026-01-08');
    expect([status, body.message]).toEqual([
      400,
      'A timeline has at most 3660 points; request a longer interval or a shorter range',
    ]);
    expect((await timelineOf(key, 'startDate=0001-01-01T12:00&endDate=9999-12-31&interval=year')).status).toBe(400);
  });

  it('returns 422 if the points have more than 110,000 counts by type', async () => {
    await fillDays('dense', 110, 1_000);
    const key = await app.issueKey({ organization: 'dense' });
    expect((await timelineOf(key, 'startDate=2022-01-01&endDate=2022-12-31')).status).toBe(200);
    await fillDays('dense', 1, 1, 'ONE_MORE_');
    const { status, body } = await timelineOf(key, 'startDate=2022-01-01&endDate=2022-12-31');
    expect([status, body.code]).toEqual([422, 'UNPROCESSABLE_CONTENT']);
    expect((await timelineOf(key, 'startDate=2022-01-01&endDate=2022-12-31&interval=week')).status).toBe(200);
    // Few counts, but a column for each type on every line.
    await fillDays('wide', 1, 2_000);
    const wide = await app.issueKey({ organization: 'wide' });
    const query = 'metrics/timeline?startDate=2022-01-01&endDate=2022-12-31';
    expect((await get(wide, query)).status).toBe(200);
    expect((await get(wide, query, { accept: 'text/csv' })).status).toBe(422);
  });

  it.each(['interval=hour', 'interval=', 'interval=day&interval=week', 'startDate=2026-02-30', 'brandSlug='])(
    'returns 400 for %s',
    async (query) => {
      const { status, body } = await timelineOf(await app.issueKey({ organization: 'empty' }), query);
      expect([status, body.code]).toEqual([400, 'BAD_REQUEST']);
    },
  );

  it('returns 403 for a brand without the feature flag', async () => {
    const { status } = await timelineOf(await app.issueKey({ organization: 'empty' }), 'brandSlug=wallet');
    expect(status).toBe(403);
  });

  it('returns CSV on request, without cells that are formulas', async () => {
    const organization = 'tabular';
    await fillDays(organization, 2, 1, '=cmd|,"');
    await fillDays(organization, 1, 1, 'URL_');
    const key = await app.issueKey({ organization });
    const query = 'metrics/timeline?startDate=2022-01-08&endDate=2022-01-09';
    const table = await get(key, query, { accept: 'application/json;q=0.9, text/csv' });
    expect(table.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present');
    expect(table.headers.get('vary')).toBe('X-API-KEY, Accept');
    expect(Date.parse(table.headers.get('x-as-of')!)).toBeGreaterThan(0);
    expect(await table.text()).toBe(
      'start,end,reports,newThreats,threatsWatchlisted,takedownsFiled,takedownsCompleted,"byType.=cmd|,""1",byType.URL_1\r\n' +
        '2022-01-08T00:00:00.000Z,2022-01-08T23:59:59.999Z,0,2,0,0,0,1,1\r\n' +
        '2022-01-09T00:00:00.000Z,2022-01-09T23:59:59.999Z,0,1,0,0,0,1,0\r\n',
    );
    const json = await get(key, query, { accept: 'text/csv;q=0.5, */*' });
    expect(json.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });
});

describe('GET /v2/organization/metrics/comparison', () => {
  const comparisonOf = (key: string, query: string) =>
    app.call(`/v2/organization/metrics/comparison?${query}`, { key });

  it('compares a range with the previous range or with the range a year earlier', async () => {
    const organization = 'compared';
    const key = await app.issueKey({ organization });
    await report(
      threat(organization, 't1', 'BLOCKED', 'URL', '2026-02-28T23:59:59.999Z'),
      threat(organization, 't2', 'BLOCKED', 'URL', '2026-02-01T00:00:00.000Z'),
      threat(organization, 't3', 'BLOCKED', 'PAGE', '2026-03-01T00:00:00.000Z'),
      threat(organization, 't4', 'BLOCKED', 'TWITTER', '2026-03-28T23:59:59.999Z'),
      threat(organization, 't5', 'BLOCKED', 'DISCORD', '2026-03-02T00:00:00.000Z'),
      threat(organization, 't6', 'WATCHLISTED', 'URL', '2025-03-28T23:59:59.999Z'),
    );
    const { status, body } = await comparisonOf(key, 'startDate=2026-03-01&endDate=2026-03-28');
    expect(status).toBe(200);
    expect(body).toEqual({
      with: 'previous',
      current: {
        window: { startDate: '2026-03-01T00:00:00.000Z', endDate: '2026-03-28T23:59:59.999Z' },
        metrics: { ...NOTHING, newThreats: 3, domainThreats: 1, twitterThreats: 1, otherThreats: 1 },
      },
      earlier: {
        window: { startDate: '2026-02-01T00:00:00.000Z', endDate: '2026-02-28T23:59:59.999Z' },
        metrics: { ...NOTHING, newThreats: 2, domainThreats: 2 },
      },
      difference: { ...NOTHING, newThreats: 1, domainThreats: -1, twitterThreats: 1, otherThreats: 1 },
      ratio: {
        reports: null,
        newThreats: 1.5,
        threatsWatchlisted: null,
        takedownsFiled: null,
        takedownsCompleted: null,
        domainThreats: 0.5,
        twitterThreats: null,
        telegramThreats: null,
        otherThreats: null,
      },
    });
    const year = await comparisonOf(key, 'startDate=2026-03-01&endDate=2026-03-28&with=year');
    expect(year.body.earlier).toEqual({
      window: { startDate: '2025-03-01T00:00:00.000Z', endDate: '2025-03-28T23:59:59.999Z' },
      metrics: { ...NOTHING, threatsWatchlisted: 1 },
    });
    expect(year.body.ratio.threatsWatchlisted).toBe(0);
  });

  it('uses the current time if endDate is absent', async () => {
    const { body } = await comparisonOf(await app.issueKey({ organization: 'empty' }), 'startDate=2026-03-01');
    const [start, end] = [body.current.window.startDate, body.current.window.endDate].map((text) => Date.parse(text));
    expect(Math.abs(end! - Date.now())).toBeLessThan(60_000);
    expect(Date.parse(body.earlier.window.startDate)).toBe(start! - (end! - start! + 1));
  });

  it.each([
    ['', 'startDate is required'],
    ['endDate=2026-01-01', 'startDate is required'],
    ['startDate=x', 'Invalid date format, use ISO 8601 format'],
    ['startDate=2026-01-01&with=month', 'with must be one of previous, year'],
    [
      'startDate=0001-01-01&endDate=2026-01-01',
      'startDate must be later, because the earlier range would begin before year 1',
    ],
  ])('returns 400 for %s: %s', async (query, message) => {
    const { status, body } = await comparisonOf(await app.issueKey({ organization: 'empty' }), query);
    expect([status, body.code, body.message]).toEqual([400, 'BAD_REQUEST', message]);
  });
});

describe('GET /v2/organization/takedowns/statistics', () => {
  const statisticsOf = (key: string, query: string) =>
    app.call(`/v2/organization/takedowns/statistics?${query}`, { key });
  const NO_TIMES = { count: 0, median: null, p90: null, p99: null, longest: null };

  it('returns the outcomes of takedowns filed in the range, and the durations of takedowns completed in the range', async () => {
    const organization = 'taken-down';
    const takedown = (takedownId: string, status: string, type: string, createdAt: string, updatedAt: string): Sent =>
      sent('TakedownStatusChanged', { organization, takedownId, asset: asset(type), status, createdAt, updatedAt });
    const key = await app.issueKey({ organization });
    await report(
      takedown('k1', 'COMPLETED', 'URL', '2026-03-01T00:00:00Z', '2026-03-01T00:00:01Z'),
      takedown('k2', 'COMPLETED', 'URL', '2026-03-02T00:00:00Z', '2026-03-02T00:00:03Z'),
      takedown('k3', 'COMPLETED', 'TWITTER', '2026-03-03T00:00:00Z', '2026-03-03T00:00:02Z'),
      takedown('k4', 'COMPLETED', 'URL', '2026-02-28T23:59:59.999Z', '2026-03-31T23:59:59.999Z'),
      takedown('k5', 'COMPLETED', 'URL', '2026-03-31T23:59:59.999Z', '2026-04-01T00:00:00Z'),
      takedown('k6', 'CANCELED', 'URL', '2026-03-05T00:00:00Z', '2026-03-05T00:00:00Z'),
      takedown('k7', 'RETRACTED', 'URL', '2026-03-05T00:00:00Z', '2026-03-05T00:00:00Z'),
      takedown('k8', 'RETRACTION_SENT', 'URL', '2026-03-05T00:00:00Z', '2026-03-05T00:00:00Z'),
      takedown('k9', 'TODO', 'URL', '2026-03-05T00:00:00Z', '2026-03-05T00:00:00Z'),
      takedown('k10', 'TODO', 'URL', '2026-03-05T00:00:00Z', '2026-03-05T00:00:00Z'),
      sent('TakedownDeleted', { organization, takedownId: 'k10', deletedAt: '2026-03-05T00:00:00Z' }),
    );
    const longest = Date.parse('2026-03-31T23:59:59.999Z') - Date.parse('2026-02-28T23:59:59.999Z');
    const { status, headers, body } = await statisticsOf(key, 'startDate=2026-03-01&endDate=2026-03-31');
    expect(status).toBe(200);
    expect(Date.parse(headers.get('x-as-of')!)).toBeGreaterThan(0);
    expect(body).toEqual({
      filed: 8,
      completed: 4,
      open: 2,
      canceled: 1,
      retracted: 1,
      completionRate: 0.5,
      timeToTakedown: {
        count: 4,
        median: 2_000,
        p90: longest,
        p99: longest,
        longest,
        byType: [
          { type: 'URL', count: 3, median: 3_000, p90: longest, p99: longest, longest },
          { type: 'TWITTER', count: 1, median: 2_000, p90: 2_000, p99: 2_000, longest: 2_000 },
        ],
      },
    });
  });

  it('returns zeros and null for rate and durations if there are no takedowns', async () => {
    const { body } = await statisticsOf(await app.issueKey({ organization: 'empty' }), '');
    expect(body).toEqual({
      filed: 0,
      completed: 0,
      open: 0,
      canceled: 0,
      retracted: 0,
      completionRate: null,
      timeToTakedown: { ...NO_TIMES, byType: [] },
    });
  });

  it('accepts the parameters of the metrics', async () => {
    const key = await app.issueKey({ organization: 'empty' });
    expect((await statisticsOf(key, 'startDate=2026-02-30')).status).toBe(400);
    expect((await statisticsOf(key, 'brandSlug=wallet')).status).toBe(403);
    const brandy = await app.issueKey({ organization: 'brandy' });
    expect((await statisticsOf(brandy, 'brandSlug=never')).status).toBe(404);
    expect((await statisticsOf(brandy, 'brandSlug=wallet')).body).toMatchObject({ filed: 1, completed: 1 });
    expect((await statisticsOf(brandy, 'brandSlug=wallet&endDate=2026-03-08')).body).toMatchObject({ filed: 0 });
  });
});

describe('GET /v2/organization/metrics/false-positives', () => {
  const falsePositivesOf = (key: string, query = '') =>
    app.call(`/v2/organization/metrics/false-positives${query}`, { key });
  const NO_DISPUTES = { filed: 0, accepted: 0, rejected: 0, open: 0, medianTimeToResolution: null };

  it('counts the threats that were first counted in the range, and those that no longer count', async () => {
    const organization = 'corrected';
    const key = await app.issueKey({ organization });
    const state = (threatId: string, status: string, type: string, createdAt: string, updatedAt = createdAt): Sent =>
      sent('ThreatStatusChanged', { organization, threatId, asset: asset(type), status, createdAt, updatedAt });
    const [first, last, later] = ['2026-03-01T00:00:00Z', '2026-03-02T23:59:59.999Z', '2026-03-09T00:00:00Z'];
    await report(
      state('t1', 'BLOCKED', 'URL', first),
      state('t2', 'APPROVED', 'URL', last),
      state('t2', 'REJECTED', 'URL', last, later),
      state('t3', 'BLOCKED', 'TWITTER', last),
      sent('ThreatDeleted', { organization, threatId: 't3', deletedAt: later }),
      // Blocked again: no false positive.
      state('t4', 'AUTO_APPROVED', 'URL', first),
      state('t4', 'WATCHLISTED', 'URL', first, last),
      state('t4', 'BLOCKED', 'URL', first, later),
      // Never counted.
      state('t5', 'PENDING', 'URL', first),
      sent('ThreatDeleted', { organization, threatId: 't6', deletedAt: later }),
      state('t7', 'BLOCKED', 'URL', '2026-03-03T00:00:00Z'),
      threat('other', 't1', 'BLOCKED', 'URL', first),
    );
    const { status, headers, body } = await falsePositivesOf(key, '?startDate=2026-03-01&endDate=2026-03-02');
    expect(status).toBe(200);
    expect(Date.parse(headers.get('x-as-of')!)).toBeGreaterThan(0);
    expect(body).toEqual({
      totals: { counted: 4, falsePositives: 2, rate: 0.5 },
      byType: [
        { type: 'URL', counted: 3, falsePositives: 1, rate: 1 / 3 },
        { type: 'TWITTER', counted: 1, falsePositives: 1, rate: 1 },
      ],
      byDay: [
        { date: '2026-03-01', counted: 2, falsePositives: 0, rate: 0 },
        { date: '2026-03-02', counted: 2, falsePositives: 2, rate: 1 },
      ],
      disputes: NO_DISPUTES,
    });
    expect((await falsePositivesOf(key)).body.totals).toEqual({ counted: 5, falsePositives: 2, rate: 0.4 });
  });

  it('counts the disputes that were filed in the range, with the median time to their resolution', async () => {
    const organization = 'disputing';
    const key = await app.issueKey({ organization });
    const disputed = { asset: asset('URL'), content: 'evil.example' };
    const verdict = { status: 'BLOCKED', source: 'own', sources: [], message: 'Blocked.' } as const;
    const absent = { reason: undefined, idempotencyKeyHash: undefined, bodyHash: undefined };
    const file = (disputeId: string, createdAt: string) =>
      newEvent({
        type: 'DisputeFiled',
        data: { organization, disputeId, ...disputed, verdict, ...absent, createdAt: Date.parse(createdAt) },
      });
    await app.log.append(disputesStream(organization), 'any', [
      ...['d1', 'd2', 'd3', 'd4'].map((id) => file(id, '2026-03-02T00:00:00Z')),
      file('d5', '2026-03-03T00:00:00Z'),
    ]);
    const resolved = (disputeId: string, outcome: string, resolvedAt: string): Sent =>
      sent('DisputeResolved', { organization, disputeId, outcome, resolvedAt });
    await report(
      resolved('d1', 'ACCEPTED', '2026-03-02T00:00:01Z'),
      resolved('d2', 'REJECTED', '2026-03-02T00:00:05Z'),
      resolved('d3', 'REJECTED', '2026-03-02T00:00:03Z'),
      resolved('d5', 'ACCEPTED', '2026-03-04T00:00:00Z'),
      // Of a dispute that is not known.
      resolved('d6', 'ACCEPTED', '2026-03-02T00:00:00Z'),
    );
    const { body } = await falsePositivesOf(key, '?startDate=2026-03-02&endDate=2026-03-02');
    expect(body).toEqual({
      totals: { counted: 0, falsePositives: 0, rate: null },
      byType: [],
      byDay: [],
      disputes: { filed: 4, accepted: 1, rejected: 2, open: 1, medianTimeToResolution: 3_000 },
    });
  });

  it('returns zeros if there is nothing to count, is of the whole organization, and returns 400 for an invalid date', async () => {
    const key = await app.issueKey({ organization: 'empty' });
    const none = { totals: { counted: 0, falsePositives: 0, rate: null }, byType: [], byDay: [] };
    expect((await falsePositivesOf(key)).body).toEqual({ ...none, disputes: NO_DISPUTES });
    expect((await falsePositivesOf(key, '?brandSlug=never')).status).toBe(400);
    expect((await falsePositivesOf(key, '?startDate=2026-02-30')).status).toBe(400);
  });

  it.each([
    ['types', 1, MAX_TYPES + 1, 422],
    ['days', MAX_DAYS + 1, 1, 422],
    ['neither types nor days', MAX_DAYS, MAX_TYPES, 200],
  ])('returns 422 if there are too many %s', async (name, days, types, expected) => {
    const organization = `many-${name.replaceAll(' ', '-')}`;
    const key = await app.issueKey({ organization });
    await app.pool.query(
      `insert into read.type_days (organization, brand, day, type, n)
       select $1, '', least(n, $2::int), 'TYPE_' || least(n, $3::int), count(*)
       from generate_series(1, greatest($2::int, $3::int)) n group by 3, 4`,
      [organization, days, types],
    );
    const { status, body } = await falsePositivesOf(key);
    expect(status).toBe(expected);
    if (status === 422)
      expect(body.message).toBe('A response has at most 30000 days and 10000 asset types; request a shorter range');
    else expect([body.byDay.length, body.byType.length]).toEqual([MAX_DAYS, MAX_TYPES]);
  });
});

describe('A metrics response', () => {
  it.each([
    'metrics',
    'metrics/timeline?startDate=2026-01-01&interval=year',
    'metrics/comparison?startDate=2026-01-01',
    'metrics/comparison?startDate=2026-01-01&with=year',
    'metrics/false-positives',
    'takedowns/statistics',
  ])('is 304 for a client that already has the result: %s', async (path) => {
    const organization = `known-${path.replaceAll(/\W+/g, '-').toLowerCase()}`;
    const key = await app.issueKey({ organization });
    await report(threat(organization, 't1', 'BLOCKED', 'URL', '2026-03-01T00:00:00Z'));
    const first = await get(key, path);
    expect(first.headers.get('cache-control')).toBe('private, max-age=0, must-revalidate');
    expect(DESCRIPTION).toContain(`\`Cache-Control: ${first.headers.get('cache-control')}\``);
    expect(first.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const tag = first.headers.get('etag')!;
    expect(tag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const known of [tag, tag.slice(2), `"x", ${tag}`, '*']) {
      const again = await get(key, path, { 'if-none-match': known });
      expect([known, again.status, await again.text()]).toEqual([known, 304, '']);
      expect(again.headers.get('etag')).toBe(tag);
      expect(again.headers.get('cache-control')).toBe('private, max-age=0, must-revalidate');
      expect(Date.parse(again.headers.get('x-as-of')!)).toBeGreaterThanOrEqual(
        Date.parse(first.headers.get('x-as-of')!),
      );
    }
    const times = dated('2026-03-02T00:00:00Z');
    await report(
      threat(organization, 't2', 'BLOCKED', 'URL', times.createdAt),
      sent('TakedownFiled', { organization, takedownId: 'k1', asset: asset('URL'), status: 'TODO', ...times }),
    );
    const changed = await get(key, path, { 'if-none-match': tag });
    expect([changed.status, changed.headers.get('etag') === tag]).toEqual([200, false]);
  });

  it('has one ETag as CSV and another as JSON', async () => {
    const key = await app.issueKey({ organization: 'empty' });
    const path = 'metrics/timeline?startDate=2026-01-01&endDate=2026-01-02';
    const { headers } = await get(key, path);
    const table = await get(key, path, { accept: 'text/csv', 'if-none-match': headers.get('etag')! });
    expect(table.status).toBe(200);
  });

  it('is not cacheable if it is an error', async () => {
    const { headers } = await get(await app.issueKey({ organization: 'empty' }), 'metrics?startDate=x');
    expect([headers.get('cache-control'), headers.get('etag')]).toEqual(['private, no-store', null]);
  });
});

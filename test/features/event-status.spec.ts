import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { delivered, history } from '../support/histories.js';
import { METRICS_OF_RECORDS, naiveCount, newestStates } from '../support/naive-count.js';
import type { ApiResponse } from '../support/call.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import { Random } from '../support/random.js';
import { eventId, sendEvents, sent, type Sent, sentThreat, SOURCE, stored } from '../support/upstream.js';

const AT = '2026-03-01T12:00:00.000Z';
const LATER = '2026-03-02T12:00:00.000Z';

const app = sharedApp();
const projecting = sharedProjecting(app);
const keys: Record<'acme' | 'globex' | 'upstream' | 'other', string> = {} as never;
beforeAll(async () => {
  for (const organization of ['acme', 'globex'] as const)
    keys[organization] = await app.issueKey({ organization, scopes: ['ingest'] });
  for (const name of ['upstream', 'other'] as const) keys[name] = await app.issueKey({ scopes: ['ingest'] });
});
afterEach(() => void jest.restoreAllMocks());

const send = (key: string, events: readonly Sent[]): Promise<ApiResponse> => sendEvents(app, key, events);
const ask = (key: string, events: readonly unknown[], after?: ApiResponse): Promise<ApiResponse> =>
  app.call('/v2/events/status', { key, json: { events }, after });
const referenceTo = ({ id, type, data }: Sent): object => ({ source: SOURCE, id, type, data });
const statuses = async (key: string, events: readonly Sent[], after?: ApiResponse): Promise<ApiResponse['body'][]> => {
  const { status, body } = await ask(key, events.map(referenceTo), after);
  expect([status, body.events?.length]).toEqual([200, events.length]);
  return body.events;
};

const threat = (threatId: string, data: object = {}, organization = 'acme'): Sent =>
  sentThreat(threatId, { organization, ...data });

describe('POST /v2/events/status', () => {
  it('returns the same statuses as a model, after duplicate and unordered events', async () => {
    const random = new Random(7);
    const events = history(random, 600, 0);
    const arriving = delivered(random, events);
    while (arriving.length > 0) await send(keys.upstream, arriving.splice(0, 1 + random.int(200)));
    await projecting.reached();
    const newest = new Set(newestStates(events).map(({ data }) => data));
    const counted = new Map<string, object[]>();
    for (let from = 0; from < events.length; from += 100) {
      const some = events.slice(from, from + 100);
      for (const [n, answer] of (await statuses(keys.upstream, some)).entries()) {
        const event = some[n]!;
        const id = eventId(event);
        expect(['counted', 'superseded']).toContain(answer.status);
        if (!event.type.endsWith('Deleted'))
          expect([id, answer.status === 'counted']).toEqual([id, newest.has(event.data)]);
        if (answer.status === 'counted') counted.set(id, answer.countedAs);
      }
    }
    for (const organization of ['acme', 'acme-2', 'b']) {
      const { metrics } = naiveCount(newestStates(events), {
        organization,
        brand: undefined,
        from: 0,
        to: Number.MAX_SAFE_INTEGER,
      });
      const facts = [...counted.values()].flat() as { organization: string; brand?: string; measure: string }[];
      for (const measure of METRICS_OF_RECORDS)
        expect([
          organization,
          measure,
          facts.filter((each) => each.organization === organization && each.measure === measure && !each.brand).length,
        ]).toEqual([organization, measure, metrics[measure]]);
    }
  });

  it('distinguishes unknown, stored, counted, superseded and parked events', async () => {
    const [first, second] = [threat('s-1'), threat('s-1', { status: 'WATCHLISTED', updatedAt: LATER })];
    const deleted = sent('ThreatDeleted', { organization: 'acme', threatId: 's-2', deletedAt: LATER });
    await send(keys.acme, [first, second, threat('s-2'), deleted]);
    await projecting.reached();
    await projecting.stop();
    const late = threat('s-3');
    await send(keys.acme, [late]);
    const parked = threat('s-4');
    const { stream, event } = stored(parked);
    await app.log.append(stream, 'any', [{ ...event, data: { organization: 'acme', threatId: 's-4' } }]);
    const before = await statuses(keys.acme, [first, second, deleted, late, threat('s-5')]);
    const storedAt = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
    const fact = { organization: 'acme', measure: 'threatsWatchlisted', day: '2026-03-01' };
    expect(before).toEqual([
      { status: 'superseded', storedAt, supersededBy: { at: LATER, deleted: false } },
      { status: 'counted', storedAt, countedAs: [fact] },
      { status: 'counted', storedAt, countedAs: [] },
      { status: 'stored', storedAt },
      { status: 'unknown' },
    ]);
    projecting.start();
    await projecting.reached();
    expect((await statuses(keys.acme, [late, parked])).map(({ status }) => status)).toEqual(['counted', 'parked']);
    expect((await statuses(keys.acme, [parked]))[0].parked).toEqual({
      projection: 'metrics',
      since: storedAt,
      reason: expect.stringContaining('data.asset'),
    });
  });

  it('finds an event by only the fields that identify its record, for every kind of record', async () => {
    const state = { updatedAt: AT };
    const events = [
      threat('n-1', {}, 'globex'),
      sent('BrandRegistered', { organization: 'globex', brand: 'shoes', ...state }),
      sent('FeatureFlagChanged', { organization: 'globex', flag: 'f', enabled: true, ...state }),
      sent('AssetGrouped', {
        organization: 'globex',
        groupId: 1,
        asset: { type: 'URL', content: 'x.example' },
        ...state,
      }),
    ];
    const after = await send(keys.upstream, events);
    // The organization sees what it may not send itself.
    expect((await statuses(keys.globex, events, after)).map(({ status }) => status)).toEqual(Array(4).fill('counted'));
    const records = ['threatId', 'brand', 'flag', 'asset'].map((name, n) => {
      const { id, type, data } = events[n]!;
      return { source: SOURCE, id, type, record: { organization: 'globex', [name]: data[name] } };
    });
    const { body } = await ask(keys.upstream, records, after);
    expect(body.events.map(({ status }: { status: string }) => status)).toEqual(Array(4).fill('counted'));
  });

  it('returns unknown for events of other organizations and keys, without looking up events of other organizations', async () => {
    const event = threat('o-1');
    const after = await send(keys.upstream, [event]);
    const find = jest.spyOn(app.log, 'find');
    expect(await statuses(keys.globex, [event], after)).toEqual([{ status: 'unknown' }]);
    expect(find.mock.calls[0]![0].map(({ id }) => id)).not.toContain(eventId(event));
    expect(await statuses(keys.other, [event])).toEqual([{ status: 'unknown' }]);
    for (const key of [keys.acme, keys.upstream]) expect((await statuses(key, [event]))[0].status).toBe('counted');
  });

  it('runs one statement on the log and one on the read models, for any number of events', async () => {
    const events = Array.from({ length: 100 }, (_, n) => threat(`c-${n}`));
    await send(keys.acme, events);
    // The projector of this spec uses the same pool as the requests, and renews its leases with statements of its own.
    await projecting.stop();
    const query = jest.spyOn(app.pool, 'query');
    const find = jest.spyOn(app.log, 'find');
    expect(await statuses(keys.acme, events)).toHaveLength(100);
    // The app's own work in the background uses the pool now and then.
    const names = query.mock.calls.flatMap(([config]) => (config as { readonly name?: string }).name ?? []);
    expect(names.filter((name) => name.startsWith('ingestion-'))).toEqual(['ingestion-event-states']);
    expect(find).toHaveBeenCalledTimes(1);
    projecting.start();
  });

  it.each([
    ['a missing list', {}],
    ['an empty list', { events: [] }],
    ['101 events', { events: Array(101).fill(referenceTo(threat('x'))) }],
    ['an event that is not an object', { events: [7] }],
    ['an unknown type', { events: [{ ...referenceTo(threat('x')), type: 'Odd' }] }],
    ['an event without a record', { events: [{ source: SOURCE, id: 'x', type: 'ThreatDeleted' }] }],
    [
      'a record without its id',
      { events: [{ source: SOURCE, id: 'x', type: 'ThreatDeleted', record: { organization: 'acme' } }] },
    ],
  ])('returns 400 for %s', async (_, json) => {
    expect((await app.call('/v2/events/status', { key: keys.acme, json })).status).toBe(400);
  });
});

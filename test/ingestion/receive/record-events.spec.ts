import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { readConfig } from '../../../src/runtime/config.js';
import { assetHash, assetKey } from '../../../src/assets/asset-key.js';
import { KEY_VERSION } from '../../../src/assets/asset.js';
import { Invalid, TooManyRequests } from '../../../src/errors.js';
import { eventIdOf, legacyEventIdOf } from '../../../src/events/streams.js';
import type { EventLog, RecordedEvent } from '../../../src/event-log/event-log.js';
import { createPostgresLog } from '../../../src/event-log/postgres/log.js';
import { ASSET_TYPES } from '../../../src/events/asset-types.js';
import { ErasedOrganizations } from '../../../src/event-log/erased-organizations.js';
import { erasureDigest } from '../../../src/events/redacted.js';
import { OWN_TYPES, parseEvent, UPSTREAM } from '../../../src/events/event.js';
import { dayOf } from '../../../src/events/instant.js';
import { readCloudEvent } from '../../../src/ingestion/receive/cloud-event.js';
import { decide } from '../../../src/ingestion/receive/decide-events.js';
import {
  type RecordedEvents,
  RecordEvents,
  RecordEventsHandler,
  IngestMetrics,
} from '../../../src/ingestion/receive/record-events.js';
import { IngestBackpressure } from '../../../src/ingestion/receive/backpressure.js';
import { RejectionLog } from '../../../src/ingestion/outcomes/rejection-log.js';
import { UsageLog } from '../../../src/ingestion/outcomes/usage-log.js';
import { Checkpoints } from '../../../src/read-models/checkpoints.js';
import type { WatchPool } from '../../../src/read-models/pools.js';
import { DailyQuota, readIngestUsage } from '../../../src/quotas/daily-quota.js';
import { type Clock, monotonic } from '../../../src/flow/time.js';
import { finish, TimeSlices } from '../../../src/flow/turns.js';
import { createPool } from '../../../src/postgres/pool.js';
import { RequestConcurrency } from '../../../src/read-models/request-concurrency.js';
import { createDatabase, NO_LIMITS, type TestDatabase } from '../../support/postgres.js';
import { TestClock } from '../../support/test-clock.js';
import { EXAMPLES } from '../../support/upstream.js';

const NO_GUARDS = { guardOf: () => undefined };

const LATEST = Date.parse('2026-03-05T00:00:00.000Z');
const AT = '2026-03-01T12:00:00.000Z';
const SOURCE = 'https://upstream.example';
const ASSET = { type: 'URL', content: 'metamask-login.example' };
const PROFILE = { type: 'TWITTER', content: 'https://x.com/metamask_airdrop' };
const DATA: Readonly<Record<string, Readonly<Record<string, unknown>>>> = EXAMPLES;

const cloudEvent = (id: string, type: string, changes: Record<string, unknown> = {}, source = SOURCE) =>
  readCloudEvent({ specversion: '1.0', id, source, type, time: AT, data: { ...DATA[type], ...changes } }, LATEST, true);
const threat = (id: string, changes: Record<string, unknown> = {}) => cloudEvent(id, 'ThreatStatusChanged', changes);

let database: TestDatabase;
let log: EventLog;
let position: bigint;

beforeAll(async () => {
  database = await createDatabase();
  log = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
});
afterAll(async () => {
  for (const one of stopped) await one.beforeApplicationShutdown();
  await log.close();
  await database.drop();
});

/** Services that write in the background until they are stopped. */
const stopped: { beforeApplicationShutdown(): Promise<void> }[] = [];
const untilTheEnd = <T extends { beforeApplicationShutdown(): Promise<void> }>(service: T): T => {
  stopped.push(service);
  return service;
};

const handlerOf = (
  log: EventLog,
  pool = database.pool,
  quota = untilTheEnd(new DailyQuota(pool, readConfig({}), new Registry())),
  clock: Clock = monotonic,
  backpressure = new IngestBackpressure(new Checkpoints(pool as WatchPool), clock),
) =>
  new RecordEventsHandler(
    log,
    backpressure,
    quota,
    new RequestConcurrency(new TimeSlices()),
    new TimeSlices(),
    new IngestMetrics(new Registry()),
    untilTheEnd(new RejectionLog(pool as WatchPool)),
    untilTheEnd(new UsageLog(pool as WatchPool)),
    NO_GUARDS,
    new ErasedOrganizations(),
  );

const record = async (
  events: ReturnType<typeof cloudEvent>[],
  organization?: string,
): Promise<RecordedEvents & { stored: RecordedEvent[] }> => {
  position = await log.head();
  const { result } = await handlerOf(log).execute(new RecordEvents(events, LATEST, organization));
  return { ...result, stored: await log.readAll(position, 10_000) };
};
const refusalOf = async (
  events: ReturnType<typeof cloudEvent>[],
  organization?: string,
): Promise<readonly string[]> => {
  const refused = await record(events, organization).then(
    () => undefined,
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(Invalid);
  return (refused as Invalid).issues;
};

describe('RecordEvents', () => {
  it.each([
    ['ReportFiled', 'report-acme:report-2041'],
    ['ReportDeleted', 'report-acme:report-1987'],
    ['ThreatStatusChanged', 'threat-acme:threat-5512'],
    ['ThreatDeleted', 'threat-acme:threat-5498'],
    ['TakedownFiled', 'takedown-acme:takedown-310'],
    ['TakedownStatusChanged', 'takedown-acme:takedown-310'],
    ['TakedownDeleted', 'takedown-acme:takedown-287'],
    ['AssetStatusChanged', `assetStatus-${assetHash(ASSET)}`],
    ['AssetStatusChangeDeleted', `assetStatus-${assetHash(PROFILE)}`],
    ['BrandRegistered', 'brand-acme:metamask'],
    ['BrandRemoved', 'brand-acme:old-wallet'],
    ['FeatureFlagChanged', 'featureFlag-acme:brands-metrics'],
    ['AssetGrouped', `groupedAsset-acme:${assetHash(ASSET)}`],
    ['AssetUngrouped', `groupedAsset-acme:${assetHash(PROFILE)}`],
  ])('stores a %s in the stream %s, with its data and its origin', async (type, stream) => {
    const id = `each-${type}`;
    const { stored, ...answer } = await record([cloudEvent(id, type)]);
    expect(answer).toEqual({ accepted: 1, duplicates: 0, rejected: [] });
    expect(stored).toHaveLength(1);
    expect(stored[0]).toMatchObject({
      id: eventIdOf(SOURCE, id, type, stream),
      stream,
      type,
      data: DATA[type],
      metadata: { source: SOURCE, id, time: AT },
    });
  });

  it.each([
    ['ThreatStatusChanged', ASSET],
    ['TakedownFiled', ASSET],
    ['AssetGrouped', ASSET],
    ['AssetUngrouped', PROFILE],
  ])('stores the hash of the asset of a %s with the version of its key', async (type, asset) => {
    const { stored } = await record([cloudEvent(`key-${type}`, type)]);
    expect(stored[0]!.metadata).toMatchObject({ assetKey: { version: KEY_VERSION, hash: assetHash(asset) } });
  });

  it('stores the key of an entry of the status history, and no key for an event without an asset', async () => {
    const { stored } = await record([cloudEvent('entry', 'AssetStatusChanged'), cloudEvent('report', 'ReportFiled')]);
    const [entry, report] = stored.map(({ metadata }) => metadata as { readonly assetKey?: unknown });
    expect(entry!.assetKey).toEqual({ version: KEY_VERSION, hash: assetHash(ASSET), key: assetKey(ASSET) });
    expect(report!.assetKey).toBeUndefined();
  });

  it('ignores a key that the sender sets, wherever the sender sets it', async () => {
    const forged = { version: KEY_VERSION, hash: 'f'.repeat(32), key: 'URL:forged.example' };
    const sentEvent = {
      specversion: '1.0',
      id: 'forged',
      source: SOURCE,
      type: 'ThreatStatusChanged',
      time: AT,
      data: {
        ...DATA['ThreatStatusChanged'],
        asset: { ...ASSET, ...forged },
        assetKey: forged,
        metadata: { assetKey: forged },
      },
      assetKey: forged,
      assetkey: JSON.stringify(forged),
      metadata: { assetKey: forged },
    };
    const { stored } = await record([readCloudEvent(sentEvent, LATEST, false)], 'acme');
    expect(stored).toHaveLength(1);
    expect((stored[0]!.metadata as { assetKey: unknown }).assetKey).toEqual({
      version: KEY_VERSION,
      hash: assetHash(ASSET),
    });
    expect(stored[0]!.data).toEqual(DATA['ThreatStatusChanged']);
  });

  it('stores only the declared fields, and every time in UTC with milliseconds', async () => {
    const { stored } = await record([
      threat('fields', { secret: 'x', asset: { ...ASSET, more: 1 }, updatedAt: '2026-03-01T13:00:00.9999+01:00' }),
    ]);
    expect(stored[0]!.data).toEqual({ ...DATA['ThreatStatusChanged'], updatedAt: '2026-03-01T12:00:00.999Z' });
  });

  it('stores nothing for an empty batch', async () => {
    expect(await record([])).toEqual({ accepted: 0, duplicates: 0, rejected: [], stored: [] });
  });
});

describe('A repeated event (equal source, id, type and record)', () => {
  it('is acknowledged and changes nothing, in the same batch and in a later one', async () => {
    const first = await record([threat('same'), threat('same', { status: 'REJECTED' }), threat('other')]);
    expect(first).toMatchObject({ accepted: 2, duplicates: 1, rejected: [] });
    expect(first.stored.map(({ data }) => (data as { status: string }).status)).toEqual(['APPROVED', 'APPROVED']);
    expect(await record([threat('same', { status: 'REJECTED' }), threat('third')])).toMatchObject({
      accepted: 1,
      duplicates: 1,
    });
  });

  it('is removed within a batch, because some logs recognise duplicates only for a limited time', () => {
    const { entries, repeated } = finish(
      decide(
        new RecordEvents([threat('twin'), threat('twin')], LATEST, undefined),
        NO_GUARDS,
        new ErasedOrganizations(),
      ),
    );
    expect([entries.length, repeated]).toEqual([1, ['ThreatStatusChanged']]);
  });

  it('is recognised only if all four are equal', async () => {
    await record([threat('one-id')]);
    const distinctEvents = [
      cloudEvent('one-id', 'ReportFiled'),
      cloudEvent('one-id', 'ThreatStatusChanged', {}, `${SOURCE}/2`),
      threat('one-id', { threatId: 't-2' }),
      threat('one-id', { organization: 'acme-2' }),
    ];
    expect(await record(distinctEvents)).toMatchObject({ accepted: 4, duplicates: 0 });
    expect(await record(distinctEvents)).toMatchObject({ accepted: 0, duplicates: 4 });
  });

  it('is not confused with events of another organization or verdicts, so a key cannot block their ids', async () => {
    const ids = Array.from({ length: 100 }, (_, n) => `upstream-${n}`);
    const threats = ids.map((id) => threat(id, { threatId: id }));
    const verdict = cloudEvent('verdict', 'AssetStatusChanged', { changeId: 'swallowed' });
    const squatting = [...ids, 'verdict'].map((id) => threat(id, { organization: 'squatter', threatId: id }));
    expect(await record(squatting, 'squatter')).toMatchObject({ accepted: 101 });
    expect(await record([...threats, verdict])).toMatchObject({ accepted: 101, duplicates: 0, rejected: [] });
  });

  it('is stored again if the first event was stored under an id made only of source and id', async () => {
    const [old] = finish(
      decide(new RecordEvents([threat('from-before')], LATEST, undefined), NO_GUARDS, new ErasedOrganizations()),
    ).entries;
    await log.appendAll([{ ...old!, event: { ...old!.event, id: legacyEventIdOf(SOURCE, 'from-before') } }]);
    expect(await record([threat('from-before')])).toMatchObject({ accepted: 1, duplicates: 0 });
    expect(await record([threat('from-before')])).toMatchObject({ accepted: 0, duplicates: 1 });
  });

  it('is stored if the first event was rejected', async () => {
    expect(await record([threat('once', { status: 1 }), threat('once')])).toMatchObject({
      accepted: 1,
      duplicates: 0,
      rejected: [{ index: 0, id: 'once' }],
    });
  });
});

describe('RecordEvents rejects', () => {
  it('an event that names an erased organization without keeping anything but its type, whatever the reason', () => {
    const erased = new ErasedOrganizations();
    const data = { digest: erasureDigest('log', 'gone'), logId: 'log', startedAt: AT };
    erased.observe({ type: 'OrganizationErasureStarted', data, position: 0n });
    const gone = { organization: 'gone' };
    const events = [
      threat('erased', gone),
      threat('invalid', { ...gone, status: 1 }),
      cloudEvent('unknown', 'Unknown', gone),
      cloudEvent('reviewed', 'AssetStatusChanged', {
        status: 'ODD',
        brandReviews: [null, { ...gone, brand: 'wallet' }],
      }),
      cloudEvent('other', 'ReportFiled', { createdAt: 'never' }),
    ];
    const { groups } = finish(decide(new RecordEvents(events, LATEST, undefined), NO_GUARDS, erased));
    const nothing = { id: undefined, source: '', data: undefined };
    expect(groups.map(({ reason, event: { id, source, data } }) => [reason, { id, source, data }])).toEqual([
      ['erased', nothing],
      ['data', nothing],
      ['unknown-type', nothing],
      ['data', nothing],
      ['data', { id: 'other', source: SOURCE, data: expect.objectContaining({ createdAt: 'never' }) }],
    ]);
  });

  it('an event with the issues of its attributes and of its data together', async () => {
    const { rejected } = await record([
      threat('good-one'),
      readCloudEvent({ id: 'x', type: 'ReportDeleted', data: { organization: 'A' } }, LATEST, false),
    ]);
    expect(rejected[0]!.issues.map(({ message }) => message)).toEqual([
      'specversion must be "1.0"',
      'source is required',
      'time is required',
      'data.organization must be a slug: 1 to 64 of a-z 0-9 -, not beginning with -',
      'data.reportId is required',
      'data.deletedAt is required',
    ]);
  });

  it.each(UPSTREAM.map(({ type, fields }) => [type, fields] as const))(
    'a %s without a required field, and names the field',
    (type, fields) => {
      for (const [name, { isOptional }] of Object.entries(fields)) {
        const { [name]: _, ...data } = DATA[type]!;
        expect([name, parseEvent(type, data).issues]).toEqual([
          name,
          isOptional ? undefined : [`data.${name} is required`],
        ]);
        if (name === 'asset')
          expect(parseEvent(type, { ...data, asset: {} }).issues).toEqual([
            'data.asset.type is required',
            'data.asset.content is required',
          ]);
      }
    },
  );

  it('the whole request if every event is rejected, with the index of each issue, and stores nothing', async () => {
    const issues = await refusalOf([threat('a', { status: 1 }), threat('b', { threatId: '' })]);
    expect(issues).toEqual([
      'event 0: data.status must be 1 to 64 upper-case characters (A-Z 0-9 _ . : -)',
      'event 1: data.threatId must be 1 to 128 of A-Z a-z 0-9 . _ : -',
    ]);
    expect(await log.readAll(position, 10)).toEqual([]);
  });

  it.each([...OWN_TYPES])('the type %s, which is reserved for this service', async (type) => {
    expect(await refusalOf([cloudEvent('own', type)])).toEqual([
      `event 0: type "${type}" is reserved for this service`,
    ]);
  });

  it.each(['ThreatCreated', 'threatstatuschanged', '__proto__', 'constructor', 'toString', 'ThreatStatusChanged '])(
    'the unknown type %s',
    async (type) => {
      expect(await refusalOf([cloudEvent('unknown', type)])).toEqual([`event 0: type "${type}" is unknown`]);
    },
  );

  it('an unknown type of a megabyte without repeating it in full', async () => {
    const [issue] = await refusalOf([cloudEvent('long', 'x'.repeat(1_000_000))]);
    expect(issue!.length).toBeLessThan(100);
  });

  it.each([
    ['organization', ['a', '0', 'a-b', 'a'.repeat(64)], ['', 'A', '-a', 'a_b', 'a:b', 'a'.repeat(65), null, 1]],
    ['threatId', ['A-z.0_9:', 'x'.repeat(128)], ['', 'x'.repeat(129), 'a b', 'a/b', 'é', null, 7]],
    ['status', ['NEW_ONE', 'X'.repeat(64)], ['', 'approved', 'X'.repeat(65), null]],
    [
      'asset',
      [
        { type: 'URL', content: 'x'.repeat(4_096) },
        { type: 'URL', content: '\u{1f600}'.repeat(4_096) },
        { type: 'T'.repeat(64), content: 'x' },
      ],
      [
        { type: 'URL', content: 'x'.repeat(4_097) },
        { type: 'URL', content: '\u{1f600}'.repeat(4_097) },
        { type: 'T'.repeat(65), content: 'x' },
        { type: 'URL', content: '' },
        { type: 'URL' },
        { type: 'url', content: 'x' },
        'phishing.example',
        null,
      ],
    ],
    [
      'updatedAt',
      ['1970-01-01T00:00:00Z', '2026-03-05T00:00:00.000Z', '2026-03-05T01:30:00.0009+01:30'],
      [
        '1969-12-31T23:59:59.999Z',
        '1970-01-01T01:29:59+01:30',
        '2026-03-05T00:00:00.001Z',
        '10000-01-01T00:00:00Z',
        '0000-12-31T23:59:59Z',
        '2026-03-01T12:00:00',
        0,
      ],
    ],
  ])('a value of %s outside its limits, and accepts values just inside', async (name, inside, outside) => {
    const events = [...inside, ...outside].map((value, index) =>
      threat(`limit-${name}-${index}`, { [name]: value as unknown }),
    );
    const { accepted, rejected } = await record(events);
    expect(rejected.map(({ index }) => index)).toEqual(outside.map((_, index) => inside.length + index));
    expect(accepted).toBe(inside.length);
  });

  it.each([null, false, 0, '', [], 'x'])('data that is not an object (%j)', async (data) => {
    const event = readCloudEvent(
      { specversion: '1.0', id: '1', source: SOURCE, type: 'ReportDeleted', time: AT, data },
      LATEST,
      false,
    );
    expect(await refusalOf([event])).toEqual(['event 0: data must be a JSON object']);
  });
});

describe('A key of an organization', () => {
  const FOR_OTHERS = [
    'AssetStatusChanged',
    'AssetStatusChangeDeleted',
    'BrandRegistered',
    'BrandRemoved',
    'FeatureFlagChanged',
    'DisputeResolved',
  ];
  const OWN = Object.keys(DATA).filter((type) => !FOR_OTHERS.includes(type));

  it('may send the organization’s events of every type except asset statuses, brands, flags and resolutions of disputes', async () => {
    const types = Object.keys(DATA);
    const { accepted, rejected } = await record(
      types.map((type) => cloudEvent(`mine-${type}`, type)),
      'acme',
    );
    expect(rejected.map(({ index }) => types[index])).toEqual(FOR_OTHERS);
    expect(rejected.map(({ issues }) => issues)).toEqual(
      FOR_OTHERS.map((type) => [
        { message: `type ${type} needs an ingest key without an organization; this key is for acme` },
      ]),
    );
    expect(accepted).toBe(OWN.length);
  });

  it('must not send events of another organization', async () => {
    const issues = await refusalOf(
      OWN.map((type) => cloudEvent(`theirs-${type}`, type)),
      'acme-2',
    );
    expect(issues).toEqual(
      OWN.map((_, index) => `event ${index}: data.organization must be this key's organization, acme-2`),
    );
  });

  it('must not send assets of unknown types, which a key without an organization may send', async () => {
    const asset = { type: 'NEW_KIND', content: 'x' };
    const events = OWN.filter((type) => 'asset' in DATA[type]!).map((type) =>
      cloudEvent(`new-${type}`, type, { asset }),
    );
    expect(events).toHaveLength(5);
    const issues = await refusalOf(events, 'acme');
    issues.forEach((issue, index) =>
      expect(issue).toMatch(
        new RegExp(
          `^event ${index}: data.asset.type is unknown; an organization's own key may send URL, PAGE, .*, CHROME_WEB_STORE$`,
        ),
      ),
    );
    expect(issues).toHaveLength(5);
    expect(await record(events)).toMatchObject({ accepted: 5 });
    const eventsOfKnownTypes = [...ASSET_TYPES].map((type) =>
      threat(`known-${type}`, { asset: { type, content: 'x' } }),
    );
    expect(await record(eventsOfKnownTypes, 'acme')).toMatchObject({ accepted: 25 });
  });
});

describe('An event that is already in the log', () => {
  it('may be dated before 1970, because only senders must not use such dates', () => {
    const data = { ...DATA['ThreatStatusChanged'], createdAt: '0099-12-31T00:00:00.000Z' };
    expect(parseEvent('ThreatStatusChanged', data).issues).toBeUndefined();
    expect(parseEvent('ThreatStatusChanged', data, LATEST).issues).toHaveLength(1);
  });
});

it('RecordEvents rejects a text that is far too long without splitting it into characters', () => {
  const content = '\u{1f600}'.repeat(2_000_000);
  // Splitting the text into characters would take 70 MB and block the event loop for 100 ms.
  const takeApart = jest.spyOn(String.prototype as { [Symbol.iterator]: () => unknown }, Symbol.iterator);
  const asset = { type: 'URL', content };
  expect(parseEvent('ThreatStatusChanged', { ...DATA['ThreatStatusChanged'], asset }).issues).toEqual([
    'data.asset.content must be at most 4096 characters',
  ]);
  expect(takeApart).not.toHaveBeenCalled();
  takeApart.mockRestore();
});

describe('The response to any request', () => {
  it('has accepted, duplicates and rejected that add up to the number of events sent', () => {
    const sender = { specversion: fc.constant('1.0'), source: fc.constantFrom('a', 'b') };
    const anything = fc.oneof(
      // So few ids that some events are sent twice.
      fc
        .tuple(fc.record({ ...sender, id: fc.constantFrom('1', '2') }), fc.constantFrom(...Object.entries(DATA)))
        .map(([event, [type, data]]) => ({ ...event, type, data, time: AT })),
      fc.record({
        ...sender,
        id: fc.constantFrom('1', '2', '3', ''),
        type: fc.constantFrom(...Object.keys(DATA), ...OWN_TYPES, '__proto__'),
        time: fc.constantFrom(AT, 'x'),
        data: fc.oneof(fc.constantFrom(...Object.values(DATA)), fc.jsonValue()),
      }),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(fc.array(anything), fc.constantFrom(undefined, 'acme', 'other'), (values, organization) => {
        const events = values.map((value) => readCloudEvent(value, LATEST, true));
        const { entries, repeated, rejected } = finish(
          decide(new RecordEvents(events, LATEST, organization), NO_GUARDS, new ErasedOrganizations()),
        );
        expect(entries.length + repeated.length + rejected.length).toBe(values.length);
        for (const { issues } of rejected) expect(issues.length).toBeGreaterThan(0);
        expect(new Set(entries.map(({ event }) => event.id)).size).toBe(entries.length);
      }),
      { numRuns: 300, seed: 20261121 },
    );
  });
});

it('RecordEvents fails if the log fails, so that no client takes its events as stored', async () => {
  const closed = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  await closed.close();
  const request = new RecordEvents([threat('lost')], LATEST, undefined);
  await expect(handlerOf(closed).execute(request)).rejects.toThrow();
});

/**
 * Runs `work` with a log of its own while the checkpoint moves every 20 ms of a test clock.
 * @param positionAt the checkpoint at the nth step
 */
const whileCounting = async (
  positionAt: (n: number) => number,
  work: (log: EventLog, pool: TestDatabase['pool'], clock: Clock) => Promise<void>,
): Promise<void> => {
  const database = await createDatabase();
  const ownLog = await createPostgresLog(createPool(database.url, () => {}, NO_LIMITS));
  const [stop, clock] = [new AbortController(), new TestClock()];
  const counting = (async () => {
    for (let n = 1; !stop.signal.aborted; n += 1) {
      await database.pool.query(
        `insert into read.checkpoints (projection, log_id, position, as_of) values ('metrics', 'log', $1, 0)
         on conflict (projection) do update set position = $1`,
        [positionAt(n)],
      );
      await clock.advance(20);
    }
  })();
  try {
    await work(ownLog, database.pool, clock);
  } finally {
    stop.abort();
    await counting;
    await ownLog.close();
    await database.drop();
  }
};

const reports = (count: number, organization = 'acme') =>
  Array.from({ length: count }, (_, n) =>
    cloudEvent(`report-${n}`, 'ReportFiled', {
      organization,
      reportId: `report-${n}`,
      brands: Array.from({ length: 50 }, (_, brand) => `b-${brand}`),
    }),
  );

it('a request that was partly stored and then rejected gets further with each retry, and each event is stored once', async () => {
  // The checkpoint stays before everything that is stored here, until `mayCount` is true.
  let mayCount = false;
  await whileCounting(
    (n) => (mayCount ? n : n - 1_000_000),
    async (halfLog, pool, clock) => {
      const used = new DailyQuota(pool, readConfig({}), new Registry());
      const handler = handlerOf(halfLog, pool, used, clock);
      const before = await halfLog.head();
      const stored = async (): Promise<number> => Number((await halfLog.head()) - before);
      const attempt = () => handler.execute(new RecordEvents(reports(300), LATEST, 'acme', 7));
      await expect(attempt()).rejects.toThrow(TooManyRequests);
      const first = await stored();
      expect(first).toBeGreaterThan(0);
      expect(first).toBeLessThan(300);
      mayCount = true;
      let answer: RecordedEvents | undefined;
      for (let n = 0; n < 10 && !answer; n += 1) answer = (await attempt().catch(() => undefined))?.result;
      expect(answer!.accepted + answer!.duplicates).toBe(300);
      expect(answer!.duplicates).toBeGreaterThanOrEqual(first);
      expect(await stored()).toBe(300);
      await used.beforeApplicationShutdown();
      expect(await readIngestUsage(pool, dayOf(Date.now()))).toEqual([{ organization: 'acme', events: 300, bytes: 7 }]);
    },
  );
});

it('a request that would be refused in the end is refused after its first events, without charge', async () => {
  const current = async () => new Map([['metrics', { projection: 'metrics', position: 0, asOf: 0 }]]);
  const checkpoints = { current, isProjecting: async () => true } as unknown as Checkpoints;
  const clock = new TestClock();
  const backpressure = new IngestBackpressure(checkpoints, clock);
  const facts = new Map([['flooding', 2_000]]);
  await backpressure.admit(facts);
  const held = backpressure.admit(new Map([['flooding', 20_000]]));
  const used = new DailyQuota(database.pool, readConfig({ INGEST_BYTES_PER_DAY: '1000' }), new Registry());
  const handler = handlerOf(log, database.pool, used, clock, backpressure);
  let read = 0;
  function* counted(count: number, organization: string) {
    for (const event of reports(count, organization)) {
      read += 1;
      yield event;
    }
  }
  await expect(handler.execute(new RecordEvents(counted(300, 'flooding'), LATEST, 'flooding', 600))).rejects.toThrow(
    TooManyRequests,
  );
  expect(read).toBe(32);
  await used.beforeApplicationShutdown();
  const [usage] = await readIngestUsage(database.pool, dayOf(Date.now()), 'flooding');
  expect(usage?.bytes ?? 0).toBe(0);
  // A request of another organization is read whole.
  const { result } = await handler.execute(new RecordEvents(counted(3, 'other'), LATEST, 'other', 600));
  expect(result.accepted).toBe(3);
  backpressure.release(facts);
  await clock.advance(20);
  await held;
});

it('a slow log does not cause a 429', async () => {
  // The projector is half a second behind, like one without a CPU core of its own.
  await whileCounting(
    (n) => n - 25,
    async (slowLog, pool, clock) => {
      const appendAll = slowLog.appendAll.bind(slowLog);
      slowLog.appendAll = async (entries) => {
        await clock.sleep(1_200);
        return appendAll(entries);
      };
      const { result } = await handlerOf(slowLog, pool, undefined, clock).execute(
        new RecordEvents(reports(100), LATEST, 'acme'),
      );
      expect(result).toEqual({ accepted: 100, duplicates: 0, rejected: [] });
    },
  );
});

it('A request that the daily quota of events rejects does not use up the quota of bytes', async () => {
  const config = readConfig({ INGEST_EVENTS_PER_DAY: '1', INGEST_BYTES_PER_DAY: '1000' });
  const handler = handlerOf(log, database.pool, untilTheEnd(new DailyQuota(database.pool, config, new Registry())));
  const send = (...threats: string[]) => {
    const events = threats.map((id) => threat(id, { organization: 'frugal' }));
    return handler.execute(new RecordEvents(events, LATEST, 'frugal', 900));
  };
  for (let attempt = 0; attempt < 3; attempt += 1) await expect(send('q-1', 'q-2')).rejects.toThrow('1 events per day');
  expect((await send('q-1')).result.accepted).toBe(1);
});

it('An organization whose daily quota is used up has the log searched by two requests at a time', async () => {
  let [searches, most] = [0, 0];
  const watched = Object.create(log) as EventLog;
  watched.find = async (keys) => {
    searches += 1;
    most = Math.max(most, searches);
    await nextTurn();
    searches -= 1;
    return keys.map(() => undefined);
  };
  const config = readConfig({ INGEST_EVENTS_PER_DAY: '1' });
  const handler = handlerOf(watched, database.pool, untilTheEnd(new DailyQuota(database.pool, config, new Registry())));
  const send = (n: number) => {
    const events = [`s-${n}`, `t-${n}`].map((id) => threat(id, { organization: 'searching' }));
    return handler.execute(new RecordEvents(events, LATEST, 'searching'));
  };
  const outcomes = await Promise.allSettled(Array.from({ length: 10 }, (_, n) => send(n)));
  expect(outcomes.map(({ status }) => status)).toEqual(outcomes.map(() => 'rejected'));
  expect(most).toBe(2);
});

it.each([
  ['events', { INGEST_EVENTS_PER_DAY: '2' }],
  ['bytes', { INGEST_BYTES_PER_DAY: '1000' }],
])(
  'A retry of a stored request is answered and costs nothing although the daily quota of %s is used up',
  async (quota, env) => {
    const used = untilTheEnd(new DailyQuota(database.pool, readConfig(env), new Registry()));
    const handler = handlerOf(log, database.pool, used);
    const organization = `retrying-${quota}`;
    const send = async (...ids: string[]) => {
      const events = ids.map((id) => threat(id, { organization }));
      return (await handler.execute(new RecordEvents(events, LATEST, organization, 900))).result;
    };
    expect(await send('q-1', 'q-2')).toMatchObject({ accepted: 2, duplicates: 0 });
    for (let attempt = 0; attempt < 3; attempt += 1)
      expect(await send('q-1', 'q-2')).toMatchObject({ accepted: 0, duplicates: 2 });
    await expect(send('q-1', 'q-3')).rejects.toThrow(`${quota} per day`);
    await used.beforeApplicationShutdown();
    expect(await readIngestUsage(database.pool, dayOf(Date.now()), organization)).toMatchObject([
      { events: 2, bytes: 900 },
    ]);
  },
);

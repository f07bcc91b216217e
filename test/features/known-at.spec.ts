import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { listParked } from '../../projections/engine/parked.js';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { metrics } from '../../projections/metrics/projection.js';
import { databaseTime } from '../../src/postgres/clock.js';
import { startApp, type TestApp } from '../support/app.js';
import type { ApiResponse } from '../support/call.js';
import { eventStores } from '../support/event-store.js';
import { sized } from '../support/full-size.js';
import { type Projecting, projectToHead, startProjecting, retryAndProject } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { cloudEvent, eventId, report, type Sent, sent, sentStatus, sentThreat, stored } from '../support/upstream.js';

// A test starts the service, and some send thousands of requests.
jest.setTimeout(120_000);

const FEBRUARY = 'startDate=2026-02-01&endDate=2026-02-28';
const IN_FEBRUARY = '2026-02-10T10:00:00.000Z';
const MARCH_1 = '2026-03-01T00:00:00.000Z';
const BOTH_FORMS =
  'knownAt must be a date-time with a zone, such as 2026-03-01T00:00:00Z, or the Consistency-Token of an earlier response';

let app: TestApp;
let ingest: string;
let key: string;
let other: string;
let sender: string;

const open = async (env: NodeJS.ProcessEnv = {}): Promise<void> => {
  app = await startApp({ env });
  ingest = await app.issueKey({ scopes: ['ingest'] });
  key = await app.issueKey({ organization: 'acme' });
  other = await app.issueKey({ organization: 'other' });
  sender = await app.issueKey({ organization: 'acme', scopes: ['ingest'] });
};

const send = (...events: readonly Sent[]): Promise<ApiResponse> => report(app, ingest, events);
const ask = (query: string, headers: Record<string, string> = {}, by = key): Promise<Response> =>
  fetch(`${app.url}/v2/organization/metrics?${query}`, { headers: { 'x-api-key': by, ...headers } });
const askAt = (moment: string, query = FEBRUARY, by = key): Promise<Response> =>
  ask(`${query}&knownAt=${encodeURIComponent(moment)}`, { prefer: 'wait=10' }, by);
const newThreatsAt = async (moment: string, query = FEBRUARY, by = key): Promise<number> => {
  const answer = await askAt(moment, query, by);
  const body: any = await answer.json();
  expect([moment, answer.status, body]).toEqual([moment, 200, body]);
  return body.metrics.newThreats;
};

const threat = (threatId: string, data: object = {}): Sent =>
  sentThreat(threatId, {
    organization: 'acme',
    asset: { type: 'URL', content: `${threatId}.example` },
    status: 'BLOCKED',
    createdAt: IN_FEBRUARY,
    updatedAt: IN_FEBRUARY,
    ...data,
  });

/**
 * Sends events, each call in one append, and gives each append its time in the log. The projector must not be running,
 * because the log otherwise never changes.
 */
const sendAt = async (...appends: readonly (readonly [recordedAt: string, ...events: Sent[]])[]): Promise<string[]> => {
  const tokens: string[] = [];
  for (const [recordedAt, ...events] of appends) {
    tokens.push((await send(...events)).headers.get('consistency-token')!);
    await app.pool.query('update log.events set recorded_at = $1 where event_id = any($2::uuid[])', [
      Date.parse(recordedAt),
      events.map(eventId),
    ]);
  }
  return tokens;
};

/** The log begins when the first event of a test is stored. */
const beginAt = (instant: string): Promise<unknown> =>
  app.pool.query('update log.events set recorded_at = $1', [Date.parse(instant)]);

const project = (): Promise<unknown> => projectToHead(app.log, app.pool);

/** Expects the same answers of the projection's present rows and of rebuilt ones. */
const expectSameAfterRebuild = async (answers: () => Promise<unknown>): Promise<void> => {
  const source = { pool: app.pool, log: app.log };
  expect(await verify(source, [metrics])).toEqual([]);
  const before = await answers();
  await rebuild(source, [metrics]);
  expect(await answers()).toEqual(before);
};

describe('GET /v2/organization/metrics with knownAt', () => {
  beforeAll(async () => {
    await open();
    await beginAt('2026-01-01T00:00:00.000Z');
    await sendAt(
      [
        '2026-02-20T00:00:00.000Z',
        threat('t-1'),
        sent('FeatureFlagChanged', {
          organization: 'acme',
          flag: 'brands-metrics',
          enabled: true,
          updatedAt: IN_FEBRUARY,
        }),
      ],
      [MARCH_1, threat('t-2'), threat('t-future', { createdAt: '2026-03-05T00:00:00.000Z' })],
      [
        '2026-03-10T00:00:00.000Z',
        threat('t-late'),
        sent('BrandRegistered', { organization: 'acme', brand: 'wallet', name: 'Wallet', updatedAt: MARCH_1 }),
        sentStatus('c-1', { brandReviews: [{ organization: 'acme', brand: 'wallet' }], createdAt: IN_FEBRUARY }),
        threat('other', { organization: 'other', threatId: 'other' }),
      ],
    );
    await project();
  });
  afterAll(() => app.close());

  it.each([
    ['2025-12-31T23:59:59.999Z', 0],
    ['2026-02-19T23:59:59.999Z', 0],
    ['2026-02-20T00:00:00.000Z', 1],
    ['2026-02-28T23:59:59.999Z', 1],
    [MARCH_1, 2],
    ['2026-03-01T05:30:00.000+05:30', 2],
    ['2026-02-28T19:00:00-05:00', 2],
    ['2026-03-09T23:59:59.999Z', 2],
    ['2026-03-10T00:00:00.000Z', 3],
    ['2026-03-11T00:00:00Z', 3],
  ])('counts what was stored by %s', async (instant, expected) => {
    expect(await newThreatsAt(instant)).toBe(expected);
    const { headers } = await askAt(instant);
    expect(headers.get('known-at')).toBe(new Date(instant).toISOString());
    expect(headers.get('consistency-token')).toBeNull();
    expect(Date.parse(headers.get('x-as-of')!)).toBeGreaterThan(Date.parse(instant));
  });

  it.each([
    ['is neither', 'never', BOTH_FORMS],
    ['is a plain date', '2026-03-01', BOTH_FORMS],
    ['has no zone', '2026-03-01T00:00:00', BOTH_FORMS],
    ['has a day that does not exist', '2026-02-30T00:00:00Z', BOTH_FORMS],
    ['is empty', '', undefined],
    ['is far ahead', '2999-01-01T00:00:00Z', 'knownAt must be in the past'],
  ])('is 400 if knownAt %s', async (_, moment, message) => {
    const answer = await askAt(moment);
    const body: any = await answer.json();
    expect([answer.status, body.code]).toEqual([400, 'BAD_REQUEST']);
    if (message !== undefined) expect(JSON.stringify(body)).toContain(message);
    expect(answer.headers.get('known-at')).toBeNull();
  });

  it('is 400 if knownAt is repeated', async () => {
    expect((await ask(`${FEBRUARY}&knownAt=${MARCH_1}&knownAt=${MARCH_1}`)).status).toBe(400);
  });

  it('is 400 for the present millisecond and for 1 ms ahead of the database, and not for the past', async () => {
    for (const offset of [0, 1, 1_000]) {
      // The database's clock moves on while the request is sent, so an instant a little ahead stands for the present.
      const now = await databaseTime(app.pool);
      const ahead = await askAt(new Date(now + 500 + offset).toISOString());
      expect([offset, ahead.status]).toEqual([offset, 400]);
      expect((await askAt(new Date(now - 1).toISOString())).status).toBe(200);
    }
  });

  it('is 410 for a token of another log, and for one beyond the end of this log', async () => {
    const another = await startApp();
    try {
      const upstream = await another.issueKey({ scopes: ['ingest'] });
      const foreign = (await report(another, upstream, [threat('t-1')])).headers.get('consistency-token')!;
      const answer = await askAt(foreign);
      expect([answer.status, ((await answer.json()) as any).message]).toEqual([
        410,
        expect.stringContaining('knownAt is a Consistency-Token of another log'),
      ]);
    } finally {
      await another.close();
    }
    const lost = (await send(threat('lost', { organization: 'other' }))).headers.get('consistency-token')!;
    await app.pool.query('delete from log.events where event_id = $1', [
      (await app.pool.query('select event_id from log.events order by position desc limit 1')).rows[0].event_id,
    ]);
    expect((await askAt(lost)).status).toBe(410);
  });

  it('counts an organization’s own records at the position of another organization’s token', async () => {
    const token = (await ask(FEBRUARY, {}, other)).headers.get('consistency-token')!;
    expect([await newThreatsAt(token), await newThreatsAt(token, FEBRUARY, other)]).toEqual([3, 1]);
  });

  it('decides access by what holds now: a brand that was not known then has zeros, an unknown one is 404', async () => {
    const brand = `${FEBRUARY}&brandSlug=wallet`;
    expect(await newThreatsAt(MARCH_1, brand)).toBe(0);
    expect(await newThreatsAt('2026-01-15T00:00:00Z', brand)).toBe(0);
    expect(await newThreatsAt('2026-03-10T00:00:00Z', brand)).toBe(1);
    expect((await askAt(MARCH_1, `${FEBRUARY}&brandSlug=unknown`)).status).toBe(404);
    expect((await askAt(MARCH_1, brand, other)).status).toBe(403);
    expect((await askAt(MARCH_1, FEBRUARY, 'tp_wrong')).status).toBe(401);
    expect((await askAt(MARCH_1, FEBRUARY, sender)).status).toBe(403);
  });

  it('ends a range without an end at the instant, or at the instant of the token’s position', async () => {
    // The threat of 5 March was stored on 1 March.
    expect(await newThreatsAt(MARCH_1, 'startDate=2026-02-01')).toBe(2);
    expect(await newThreatsAt('2026-03-05T00:00:00.000Z', 'startDate=2026-02-01')).toBe(3);
    expect(await newThreatsAt('2026-03-04T23:59:59.999Z', 'startDate=2026-02-01')).toBe(2);
    expect(await newThreatsAt(MARCH_1, 'startDate=2026-02-01&endDate=2026-12-31')).toBe(3);
    const token = (await ask(FEBRUARY)).headers.get('consistency-token')!;
    const answer = await askAt(token, 'startDate=2026-02-01');
    expect(answer.headers.get('known-at')).toBe('2026-03-10T00:00:00.000Z');
    expect(((await answer.json()) as any).metrics.newThreats).toBe(4);
  });

  it('is 304 for a client that has the same content, and names the instant', async () => {
    const first = await askAt(MARCH_1);
    const tag = first.headers.get('etag')!;
    const again = await ask(`${FEBRUARY}&knownAt=${MARCH_1}`, { 'if-none-match': tag });
    expect([again.status, again.headers.get('known-at'), again.headers.get('consistency-token')]).toEqual([
      304,
      MARCH_1,
      null,
    ]);
    expect((await ask(`${FEBRUARY}&knownAt=2026-03-11T00:00:00Z`, { 'if-none-match': tag })).status).toBe(200);
  });

  it('is 503 if the read models do not get there, and for a read model of an earlier version', async () => {
    const token = (await send(threat('t-waiting', { organization: 'other' }))).headers.get('consistency-token')!;
    for (const moment of [token, new Date((await databaseTime(app.pool)) - 1).toISOString()]) {
      const answer = await ask(`${FEBRUARY}&knownAt=${moment}`, { prefer: 'wait=0' });
      expect([moment, answer.status, Number(answer.headers.get('retry-after'))]).toEqual([moment, 503, 1]);
    }
    await project();
    expect((await askAt(token)).status).toBe(200);
    await app.pool.query(`update read.checkpoints set version = 1 where projection = 'metrics'`);
    const rebuilding = await askAt(MARCH_1);
    expect([rebuilding.status, await rebuilding.text()]).toEqual([503, expect.stringContaining('being rebuilt')]);
    expect((await ask(FEBRUARY)).status).toBe(200);
    await app.pool.query(`update read.checkpoints set version = 2 where projection = 'metrics'`);
  });

  it('gives the same answers after a rebuild', async () => {
    await expectSameAfterRebuild(() =>
      Promise.all(
        ['2026-02-20T00:00:00Z', MARCH_1, '2026-03-10T00:00:00Z'].map(async (at) => (await askAt(at)).text()),
      ),
    );
  });
});

describe('What was stored by an instant', () => {
  beforeEach(async () => {
    await open();
    await beginAt('2026-01-01T00:00:00.000Z');
  });
  afterEach(() => app.close());

  it('is the log before the first event that was stored later, if the clock was set back', async () => {
    await sendAt(
      ['2026-03-01T00:00:00.000Z', threat('a')],
      ['2026-03-05T00:00:00.000Z', threat('b')],
      ['2026-03-02T00:00:00.000Z', threat('c')],
      ['2026-03-05T00:00:00.000Z', threat('d')],
      ['2026-03-06T00:00:00.000Z', threat('e')],
    );
    await project();
    const answers = async () =>
      Promise.all(
        ['2026-03-01', '2026-03-02', '2026-03-04', '2026-03-05', '2026-03-06'].map((day) =>
          newThreatsAt(`${day}T00:00:00.000Z`),
        ),
      );
    expect(await answers()).toEqual([1, 1, 1, 4, 5]);
    await expectSameAfterRebuild(answers);
  });

  it('has the time at which an event was first read, if the clock of the log was ahead', async () => {
    const at = async (ms: number): Promise<string> => new Date((await databaseTime(app.pool)) + ms).toISOString();
    await sendAt(['2026-03-01T00:00:00.000Z', threat('a')]);
    await project();
    await sendAt([await at(3_600_000), threat('ahead')]);
    await project();
    const between = await at(0);
    await setTimeout(5);
    for (const id of ['b', 'c']) {
      await sendAt([await at(-1), threat(id)]);
      await project();
    }
    const answers = async () => [await newThreatsAt(between), await newThreatsAt(await at(-1))];
    expect(await answers()).toEqual([2, 4]);
    const dates = await app.pool.query('select max(stored_at) as stored from read.register');
    expect(Number(dates.rows[0].stored)).toBeLessThanOrEqual(await databaseTime(app.pool));
    await expectSameAfterRebuild(answers);
    // The times are kept outside of the read models, so that a rebuild from nothing knows them.
    expect((await app.pool.query('select position from service.bounded_times')).rows).toHaveLength(1);
  });

  it('names the latest time up to the position of a token, if the clock was set back', async () => {
    const [, , token] = await sendAt(
      ['2026-03-01T00:00:00.000Z', threat('a')],
      ['2026-03-05T00:00:00.000Z', threat('b')],
      ['2026-03-02T00:00:00.000Z', threat('c')],
    );
    await project();
    const answer = await askAt(token!);
    expect(answer.headers.get('known-at')).toBe('2026-03-05T00:00:00.000Z');
    expect(((await answer.json()) as any).metrics.newThreats).toBe(3);
  });

  it('includes all states of a record that one append has, and the newest of them counts', async () => {
    const states = [
      threat('a', { status: 'WATCHLISTED' }),
      threat('a', { status: 'PENDING', updatedAt: '2026-02-11T00:00:00Z' }),
      threat('a', { updatedAt: '2026-02-12T00:00:00Z' }),
    ];
    await sendAt(['2026-03-01T00:00:00.000Z', ...states], ['2026-03-02T00:00:00.000Z', threat('b')]);
    await project();
    expect([await newThreatsAt('2026-02-28T23:59:59.999Z'), await newThreatsAt(MARCH_1)]).toEqual([0, 1]);
    const { rows } = await app.pool.query('select count(distinct recorded_at)::int as n from log.events');
    // The beginning, and two appends.
    expect(rows[0].n).toBe(3);
    // A token may name a position inside an append, at which an intermediate state was the newest.
    const { rows: former } = await app.pool.query('select count(*)::int as n from read.former_states');
    expect(former[0].n).toBe(2);
    await expectSameAfterRebuild(async () => [await newThreatsAt(MARCH_1)]);
  });

  it('is not changed by duplicates and by older versions that arrive late', async () => {
    const first = threat('a', { updatedAt: '2026-02-12T00:00:00Z' });
    await sendAt(
      ['2026-03-01T00:00:00.000Z', first],
      ['2026-03-03T00:00:00.000Z', threat('a', { status: 'PENDING', updatedAt: '2026-02-11T00:00:00Z' })],
      ['2026-03-05T00:00:00.000Z', threat('b')],
    );
    const { body } = await app.call('/v2/events', {
      key: ingest,
      json: [cloudEvent(first)],
      headers: { 'content-type': 'application/cloudevents-batch+json' },
    });
    expect(body.duplicates).toBe(1);
    // The same state under another id of the sender: a duplicate that the log stores again.
    await sendAt(['2026-03-06T00:00:00.000Z', threat('a', { updatedAt: '2026-02-12T00:00:00Z' })]);
    await project();
    const answers = async () =>
      Promise.all(
        ['2026-02-28', '2026-03-02', '2026-03-04', '2026-03-05', '2026-03-07'].map((day) =>
          newThreatsAt(`${day}T00:00:00.000Z`),
        ),
      );
    expect(await answers()).toEqual([0, 1, 1, 2, 2]);
    await expectSameAfterRebuild(answers);
  });

  it('is exact for every delay between the day of a record and the day on which it is stored', async () => {
    const delays = [1, 2, 3, 4, 7, 8, 15, 16, 31, 32, 63, 64];
    const noon = Date.parse('2026-03-01T12:00:00.000Z');
    const facts = [0, ...delays, ...delays.map((days) => -days)].map((days) =>
      threat(`after-${days}`, { createdAt: new Date(noon - days * 86_400_000).toISOString() }),
    );
    await sendAt(['2026-03-01T12:00:00.000Z', ...facts], ['2026-06-01T00:00:00.000Z', threat('end')]);
    await project();
    const answers = async () => {
      const counts: number[] = [];
      for (const at of ['2026-03-01T06:00:00Z', '2026-03-01T18:00:00Z', '2026-02-28T18:00:00Z', '2026-03-02T06:00:00Z'])
        counts.push(await newThreatsAt(at, 'startDate=2025-12-01&endDate=2026-05-31'));
      return counts;
    };
    expect(await answers()).toEqual([0, facts.length, 0, facts.length]);
    await expectSameAfterRebuild(answers);
  });

  it('includes a parked event from the position of its retry', async () => {
    const parked = threat('parked');
    const { stream, event } = stored(parked);
    await app.log.append(stream, 'any', [{ ...event, data: { organization: 'acme', threatId: 'parked' } }]);
    await app.pool.query('update log.events set recorded_at = $1 where event_id = $2', [
      Date.parse('2026-03-03T00:00:00Z'),
      event.id,
    ]);
    await sendAt(['2026-03-04T00:00:00.000Z', threat('later')], ['2026-04-02T00:00:00.000Z', threat('last')]);
    await project();
    const answers = async () =>
      Promise.all(
        ['2026-03-02T23:59:59.999Z', '2026-03-03T00:00:00.000Z', '2026-03-05T00:00:00Z', '2026-04-02T00:00:00Z'].map(
          (at) => newThreatsAt(at),
        ),
      );
    expect(await answers()).toEqual([0, 0, 1, 2]);
    await app.pool.query('update log.events set data = $1 where event_id = $2', [event.data, event.id]);
    const source = { pool: app.pool, log: app.log };
    const [row] = await listParked(app.pool, event.id).then((rows) =>
      rows.filter(({ projection }) => projection === 'metrics'),
    );
    const now = async () => ((await (await ask(FEBRUARY)).json()) as any).metrics.newThreats as number;
    const before = await now();
    expect(await retryAndProject(source, metrics, row!)).toBeUndefined();
    expect(await answers()).toEqual([0, 0, 1, 2]);
    expect(await now()).toBe(before + 1);
    await expectSameAfterRebuild(answers);
  });
});

describe.each([{ name: 'PostgreSQL', open: undefined }, ...eventStores])(
  'While events arrive, on $name',
  ({ open: openStore }) => {
    let projecting: Projecting;
    let release: (() => Promise<void>) | undefined;
    beforeAll(async () => {
      const store = await openStore?.();
      release = store && (() => store.release());
      await open(store && { EVENTSTORE_URL: store.url });
      projecting = startProjecting(app.log, app.pool);
    });
    afterAll(async () => {
      await projecting.stop();
      await app.close();
      await release?.();
    });

    /** Sends events until the returned function is called: new threats, deletions, and other statuses of known ones. */
    const keepSending = (random: Random, senders: number): (() => Promise<number>) => {
      let [isOver, count] = [false, 0];
      const running = Array.from({ length: senders }, async (_, one) => {
        for (let n = 0; !isOver; n += 1) {
          const events = Array.from({ length: 1 + random.int(20) }, () => {
            const id = `s${one}-${random.int(10 + n)}`;
            const updatedAt = new Date(Date.parse(IN_FEBRUARY) + random.int(1e9)).toISOString();
            return random.chance(0.1)
              ? sent('ThreatDeleted', { organization: 'acme', threatId: id, deletedAt: updatedAt })
              : threat(id, { status: random.pick(['BLOCKED', 'BLOCKED', 'WATCHLISTED', 'PENDING']), updatedAt });
          });
          await send(...events);
          count += events.length;
          // Without a pause, the senders would outrun the projector, and no question would be answered in time.
          if (n % 5 === 4) await projecting.reached();
        }
      });
      return async () => {
        isOver = true;
        await Promise.all(running);
        return count;
      };
    };

    it('has one answer for ever to each question, also about the last millisecond', async () => {
      const stop = keepSending(new Random(1), 4);
      const answers = new Map<string, string>();
      const different = (): number => new Set(answers.values()).size;
      // Each question waits for the projector, and one wait serves all questions that are asked meanwhile. With an event
      // store, a wait takes 2 s.
      const questions = openStore === undefined ? sized(60, 1_000) : sized(24, 300);
      const minDifferent = openStore === undefined ? 20 : sized(6, 20);
      await Promise.all(
        Array.from({ length: 6 }, async () => {
          // On a busy machine, several questions fall between two events.
          for (let n = 0; n < questions / 6 || different() <= minDifferent; n += 1) {
            const instant = new Date((await databaseTime(app.pool)) - 1).toISOString();
            const answer = await askAt(instant);
            expect(answer.status).toBe(200);
            answers.set(instant, await answer.text());
          }
        }),
      );
      const count = await stop();
      await projecting.reached();
      for (const [instant, text] of answers)
        expect([instant, await (await askAt(instant)).text()]).toEqual([instant, text]);
      expect(different()).toBeGreaterThan(minDifferent);
      expect(count).toBeGreaterThan(100);
    });

    it('gives the same bytes for the token of every response with an explicit end', async () => {
      const stop = keepSending(new Random(2), 4);
      const answers: [query: string, token: string, text: string][] = [];
      const random = new Random(3);
      const requests = openStore === undefined ? sized(120, 2_000) : sized(60, 300);
      await Promise.all(
        Array.from({ length: 4 }, async () => {
          while (answers.length < requests) {
            const start = 1 + random.int(20);
            const query = random.pick([
              FEBRUARY,
              `startDate=2026-02-${String(start).padStart(2, '0')}T08:00:00Z&endDate=2026-02-${start + 8 < 10 ? '0' : ''}${start + 8}T17:00:00.123Z`,
              'endDate=2026-02-10T10:00:00.000Z',
              'endDate=2100-01-01',
            ]);
            const answer = await ask(query);
            expect(answer.status).toBe(200);
            answers.push([query, answer.headers.get('consistency-token')!, await answer.text()]);
          }
        }),
      );
      await stop();
      await projecting.reached();
      let differences = 0;
      for (const [query, token, text] of answers)
        if ((await (await askAt(token, query)).text()) !== text) differences += 1;
      expect([answers.length >= requests, differences]).toEqual([true, 0]);
      expect(new Set(answers.map(([, token]) => token)).size).toBeGreaterThan(requests / 40);
      const source = { pool: app.pool, log: app.log };
      await projecting.stop();
      expect(await verify(source, [metrics])).toEqual([]);
      await rebuild(source, [metrics]);
      projecting = startProjecting(app.log, app.pool);
      for (const [query, token, text] of answers.slice(0, 100))
        expect([query, await (await askAt(token, query)).text()]).toEqual([query, text]);
    });
  },
);

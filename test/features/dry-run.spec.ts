import { beforeAll, describe, expect, it } from '@jest/globals';
import { MEASURE } from '../../src/events/facts.js';
import { delivered, history } from '../support/histories.js';
import { sharedApp, sharedProjecting } from '../support/open-for-tests.js';
import type { ApiResponse } from '../support/call.js';
import { sized } from '../support/full-size.js';
import { Random } from '../support/random.js';
import { cloudEvent, sent, sentThreat } from '../support/upstream.js';

/** The number of fuzzed events. */
const EVENTS = sized(1_200, 30_000);
const HISTORY = 500;
const BATCH = 'application/cloudevents-batch+json';
const ONE = 'application/cloudevents+json';
const AT = '2026-03-01T12:00:00.000Z';
const MEASURES: Readonly<Record<string, number>> = {
  reports: MEASURE.report,
  newThreats: MEASURE.threat,
  threatsWatchlisted: MEASURE.threatWatchlisted,
  takedownsFiled: MEASURE.takedownFiled,
  takedownsCompleted: MEASURE.takedownCompleted,
};

const app = sharedApp({ env: { INGEST_EVENTS_PER_DAY: '10000000' } });
const projecting = sharedProjecting(app);
const keys: { every: string; own: string } = { every: '', own: '' };
beforeAll(async () => {
  keys.every = await app.issueKey({ scopes: ['ingest'] });
  await app.issueKey({ organization: 'globex' });
  keys.own = await app.issueKey({ organization: 'acme', scopes: ['ingest'] });
});

const post = (query: string, key: string, body: unknown): Promise<ApiResponse> =>
  app.call(`/v2/events${query}`, {
    key,
    json: body,
    headers: { 'content-type': Array.isArray(body) ? BATCH : ONE },
  });
const dryRun = (body: unknown, key = keys.every): Promise<ApiResponse> => post('?dryRun=true', key, body);
const send = (body: unknown, key = keys.every): Promise<ApiResponse> => post('', key, body);

const threat = (threatId: string, data: object = {}, id?: string): Record<string, unknown> =>
  cloudEvent(sentThreat(threatId, { organization: 'globex', ...data }, id));

/** Removes the current time from the message about events that are too far in the future. */
const atOneInstant = (answer: unknown): unknown =>
  JSON.parse(JSON.stringify(answer).replaceAll(/the latest is now [^"]*/g, 'the latest is now …'));

/** Returns the event with a missing part, another type, or another time. */
const broken = (random: Random, event: Record<string, unknown>): unknown => {
  const copy: Record<string, unknown> = { ...event, data: { ...(event['data'] as object) } };
  const target = random.chance(0.5) ? copy : (copy['data'] as Record<string, unknown>);
  const name = random.pick(Object.keys(target));
  const value = random.pick<unknown>([undefined, null, '', '\0', 7, [], {}, 'Made Up', '2099-01-01T00:00:00Z', AT]);
  target[name] = value;
  return random.chance(0.02) ? value : copy;
};

/** The metrics by day: either the sum of the predictions of dry runs, or the values in the tables. */
type Sums = Map<string, number>;
const bump = (sums: Sums, key: string, n: number): void => {
  const sum = (sums.get(key) ?? 0) + n;
  if (sum === 0) sums.delete(key);
  else sums.set(key, sum);
};
const addAll = (sums: Sums, facts: readonly Record<string, string>[], n: number): void => {
  for (const { organization, brand = '', measure, day, type } of facts) {
    bump(sums, `${organization} ${brand} ${MEASURES[measure!]} ${day}`, n);
    if (type !== undefined) bump(sums, `${organization} ${brand} of ${type} ${day}`, n);
  }
};
const sorted = (sums: Sums): [string, number][] => [...sums].sort(([a], [b]) => (a < b ? -1 : 1));

const counted = async (): Promise<Sums> => {
  const { rows } = await app.pool.query<{ key: string; n: number }>(
    `select organization || ' ' || brand || ' ' || measure || ' ' || (date '1970-01-01' + day) as key, n from read.days
     union all
     select organization || ' ' || brand || ' of ' || type || ' ' || (date '1970-01-01' + day), n from read.type_days`,
  );
  return new Map(rows.map(({ key, n }) => [key, n]));
};

describe('A dry run', () => {
  it('returns the same result as the real request after it, and predicts the change of the metrics', async () => {
    const random = new Random(29);
    const predicted: Sums = new Map();
    const differences: unknown[] = [];
    const outcomes = new Map<string, number>();
    let done = 0;
    while (done < EVENTS) {
      const events = delivered(random, history(random, HISTORY)).map((event) =>
        random.chance(0.15) ? broken(random, cloudEvent(event)) : cloudEvent(event),
      );
      while (events.length > 0 && done < EVENTS) {
        const isAlone = random.chance(0.3);
        const batch = events.splice(0, isAlone ? 1 : 1 + random.int(200));
        const body = isAlone ? batch[0] : batch;
        const key = random.chance(0.2) ? keys.own : keys.every;
        const tried = await dryRun(body, key);
        const real = await send(body, key);
        const { events: each = [], ...answer } = tried.body as Record<string, Record<string, never>[]>;
        done += batch.length;
        try {
          expect([tried.status, atOneInstant(answer)]).toEqual([real.status, atOneInstant(real.body)]);
          expect(each).toHaveLength(real.body.accepted ?? 0);
        } catch (error) {
          differences.push((error as Error).message.slice(0, 2_000));
        }
        for (const { wouldCount, wouldNoLongerCount = [], superseded } of each) {
          addAll(predicted, wouldCount!, 1);
          addAll(predicted, wouldNoLongerCount, -1);
          bump(outcomes, superseded ? 'superseded' : 'counts', 1);
        }
        bump(outcomes, 'accepted', Number(real.body.accepted ?? 0));
        bump(outcomes, 'duplicates', Number(real.body.duplicates ?? 0));
        bump(outcomes, 'rejected', Number(real.body.rejected?.length ?? 0));
        await projecting.reached();
      }
      expect(sorted(predicted)).toEqual(sorted(await counted()));
    }
    expect(differences).toEqual([]);
    // Every case has occurred.
    for (const outcome of ['accepted', 'duplicates', 'rejected', 'superseded', 'counts'])
      expect([outcome, outcomes.get(outcome)! > EVENTS / 100]).toEqual([outcome, true]);
  });

  it('stores nothing, charges no quota, and keeps no rejection', async () => {
    const used = () =>
      app.pool.query(`select * from service.ingest_usage where events > 0 and organization = 'initech'`);
    const key = await app.issueKey({ organization: 'initech', scopes: ['ingest'] });
    const head = await app.log.head();
    const own = threat('dry', { organization: 'initech' });
    for (let n = 0; n < 3; n += 1)
      expect((await dryRun([own, threat('not-theirs')], key)).body).toMatchObject({ accepted: 1, duplicates: 0 });
    expect(await app.log.head()).toBe(head);
    expect((await used()).rows).toEqual([]);
  });

  it('returns the facts that each event would add and remove after the preceding events', async () => {
    const newer = { updatedAt: '2026-03-02T12:00:00.000Z' };
    const fact = { organization: 'globex', measure: 'newThreats', day: '2026-03-01', type: 'URL' };
    const { body } = await dryRun([
      threat('a', { status: 'PENDING' }, 'pending'),
      threat('b', {}, 'approved'),
      threat('b', { status: 'WATCHLISTED', ...newer }, 'watchlisted'),
      threat('b', { status: 'BLOCKED' }, 'late'),
      { ...threat('c'), time: 'yesterday' },
      threat('b', {}, 'approved'),
    ]);
    expect(body).toMatchObject({ accepted: 4, duplicates: 1, rejected: [{ index: 4 }] });
    expect(body.events).toEqual([
      { index: 0, id: 'pending', wouldCount: [] },
      { index: 1, id: 'approved', wouldCount: [fact] },
      {
        index: 2,
        id: 'watchlisted',
        wouldCount: [{ organization: 'globex', measure: 'threatsWatchlisted', day: '2026-03-01' }],
        wouldNoLongerCount: [fact],
      },
      { index: 3, id: 'late', wouldCount: [], superseded: true },
    ]);
  });

  it.each([
    ['BrandRegistered', { brand: 'shoes' }],
    ['FeatureFlagChanged', { flag: 'brands-metrics', enabled: true }],
    ['AssetGrouped', { groupId: 1, asset: { type: 'URL', content: 'x.example' } }],
  ] as const)('reports a %s as superseded if a later state of its subject is stored', async (type, data) => {
    const state = (updatedAt: string): object => cloudEvent(sent(type, { organization: 'globex', ...data, updatedAt }));
    await send([state('2026-03-02T00:00:00Z')]);
    await projecting.reached();
    expect((await dryRun([state(AT)])).body.events).toEqual([
      { index: 0, id: expect.any(String), wouldCount: [], superseded: true },
    ]);
    expect((await dryRun([state('2026-03-03T00:00:00Z')])).body.events[0]).not.toHaveProperty('superseded');
  });

  it('says what an event with an undocumented status would count as', async () => {
    const { body } = await dryRun(threat('misspelt', { status: 'NOPE' }));
    expect(body).toMatchObject({
      accepted: 1,
      warnings: [
        { index: 0, issues: [{ message: expect.stringMatching(/^data\.status is none of .* counts in no metric$/) }] },
      ],
      events: [{ index: 0, wouldCount: [] }],
    });
  });

  it('accepts only true and false as dryRun', async () => {
    for (const [query, status] of [
      ['?dryRun=false', 200],
      ['?dryRun=1', 400],
      ['?dryRun=true&dryRun=true', 400],
    ] as const)
      expect([query, (await post(query, keys.every, [threat('asked')])).status]).toEqual([query, status]);
  });
});

import { beforeAll, describe, expect, it, jest } from '@jest/globals';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { PROJECTIONS } from '../../projections/registry.js';
import { applyRetention } from '../../src/cli/redacting/retention.js';
import { startErasure, subjectOf } from '../../src/cli/erasing/find-organization.js';
import { LOCK_EVENTS, REWRITE_CONTENTS } from '../../src/event-log/postgres/rewriting.js';
import { COUNT_CHECKPOINTS_AT, SHADOW_SCHEMAS } from '../../src/read-models/erasures.js';
import { eventually } from '../support/eventually.js';
import { sized } from '../support/full-size.js';
import { type CommandResult, operatorCall } from '../support/operator-call.js';
import { organizationWithGroup } from '../support/organization-with-group.js';
import { sharedApp, sharedDatabase, sharedProjecting } from '../support/open-for-tests.js';
import { Random } from '../support/random.js';
import { tableLines } from '../support/table-lines.js';
import {
  eventId,
  EXAMPLES,
  report,
  sent,
  sentReport,
  sentStatus,
  sentThreat,
  stored,
  type Sent,
} from '../support/upstream.js';

// The random ranges are 8,000 requests.
jest.setTimeout(300_000);

const ORGANIZATIONS = ['acme', 'beta'];
const RANGES = sized(25, 1_000);
/** Enough for several batches. */
const OLD_THREATS = 300;
const OLDEST_DAYS = 1_500;
const random = new Random(730);

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString();
const url = (content: string) => ({ type: 'URL', content });
const reviews = ORGANIZATIONS.map((organization) => ({ organization, brand: 'wallet' }));

/** Every content that expires contains `expired`, and every other content contains `kept`. */
const eventsOf = (organization: string): Sent[] => {
  const threat = (threatId: string, content: string, days: number, status = 'BLOCKED'): Sent =>
    sentThreat(threatId, {
      organization,
      asset: url(content),
      status,
      createdAt: daysAgo(OLDEST_DAYS),
      updatedAt: daysAgo(days),
    });
  const takedown = (type: 'TakedownFiled' | 'TakedownStatusChanged', id: string, content: string, days: number): Sent =>
    sent(type, {
      ...EXAMPLES[type],
      organization,
      takedownId: id,
      brand: 'wallet',
      asset: url(content),
      status: type === 'TakedownFiled' ? 'SUBMITTED' : 'COMPLETED',
      createdAt: daysAgo(OLDEST_DAYS),
      updatedAt: daysAgo(days),
    });
  const old = Array.from({ length: OLD_THREATS }, (_, n) => {
    const days = 740 + random.int(600);
    const content = `expired-${n}.${organization}.example`;
    return [threat(`t-old-${n}`, content, days + 5, 'PENDING'), threat(`t-old-${n}`, content, days)];
  });
  return [
    sent('BrandRegistered', { organization, brand: 'wallet', name: 'Wallet', updatedAt: daysAgo(OLDEST_DAYS) }),
    sent('FeatureFlagChanged', {
      organization,
      flag: 'brands-metrics',
      enabled: true,
      updatedAt: daysAgo(OLDEST_DAYS),
    }),
    ...old.flat(),
    threat('t-young', 'kept-young.example', 900),
    threat('t-young', 'kept-young.example', 700, 'WATCHLISTED'),
    threat('t-border', 'kept-border.example', 729.9),
    threat('t-moved', 'expired-moved-from.example', 1_000),
    threat('t-moved', 'expired-moved-to.example', 900),
    threat('t-deleted', 'expired-deleted.example', 1_000),
    sent('ThreatDeleted', { organization, threatId: 't-deleted', deletedAt: daysAgo(800) }),
    threat('t-deleted-late', 'kept-deleted-late.example', 1_000),
    sent('ThreatDeleted', { organization, threatId: 't-deleted-late', deletedAt: daysAgo(10) }),
    takedown('TakedownFiled', 'k-old', 'expired-takedown.example', 1_000),
    takedown('TakedownStatusChanged', 'k-old', 'expired-takedown.example', 800),
    takedown('TakedownFiled', 'k-young', 'kept-takedown.example', 1_000),
    takedown('TakedownStatusChanged', 'k-young', 'kept-takedown.example', 20),
    ...Array.from({ length: 40 }, (_, n) =>
      sentReport(`r-${n}`, { organization, brands: ['wallet'], createdAt: daysAgo(1 + random.int(OLDEST_DAYS)) }),
    ),
    // A member of a group that is also the asset of an old threat.
    sent('AssetGrouped', { organization, asset: url('kept-member.example'), groupId: 1, updatedAt: daysAgo(1_400) }),
    threat('t-member', 'https://kept-member.example/expired-path', 1_300),
  ];
};

const entry = (changeId: string, content: string, status: string, days: number): Sent =>
  sentStatus(changeId, { asset: url(content), status, brandReviews: reviews, createdAt: daysAgo(days) });

const STATUSES: readonly Sent[] = [
  // The current status is itself older than the age.
  entry('c-a1', 'https://status-a.example/expired-a1', 'ALLOWED', 1_400),
  entry('c-a2', 'https://status-a.example/kept-a2', 'BLOCKED', 1_000),
  entry('c-b1', 'https://status-b.example/expired-b1', 'ALLOWED', 1_400),
  entry('c-b2', 'https://status-b.example/kept-b2', 'BLOCKED', 10),
  // The newest entry was deleted, so that the one before it is the current status.
  entry('c-c1', 'https://status-c.example/kept-c1', 'BLOCKED', 1_400),
  entry('c-c2', 'https://status-c.example/expired-c2', 'ALLOWED', 1_000),
  sent('AssetStatusChangeDeleted', {
    changeId: 'c-c2',
    asset: url('https://status-c.example/expired-c2'),
    deletedAt: daysAgo(900),
  }),
  // The entry is older than the age, and its deletion is younger.
  entry('c-e1', 'https://status-e.example/expired-e1', 'ALLOWED', 1_400),
  sent('AssetStatusChangeDeleted', {
    changeId: 'c-e1',
    asset: url('https://status-e.example/kept-e1'),
    deletedAt: daysAgo(10),
  }),
  // Not in force any more, but younger than the age.
  entry('c-d1', 'https://status-d.example/kept-d1', 'ALLOWED', 100),
  entry('c-d2', 'https://status-d.example/kept-d2', 'BLOCKED', 50),
];
const BLOCKED = ['status-a.example', 'status-b.example', 'status-c.example', 'status-d.example'];

const database = sharedDatabase();
const app = sharedApp({ database });
const projecting = sharedProjecting(app);
const keys: Record<string, string> = {};

const retention = (...words: string[]): Promise<CommandResult> =>
  operatorCall({ DATABASE_URL: database.url }, 'retention', ...words);
const apply = (...words: string[]): Promise<CommandResult> =>
  retention('apply', '--older-than', '730d', '--json', ...words);
// oxlint-disable-next-line typescript/no-explicit-any
const get = async (organization: string, path: string): Promise<any> => {
  const { status, body } = await app.call(`/v2/${path}`, { key: keys[organization]! });
  expect([path, status]).toEqual([path, 200]);
  return body;
};
const linesWith = async (text: string): Promise<string[]> =>
  (await tableLines(database.pool)).filter((line) => line.includes(text));
const eventLines = async (): Promise<string[]> =>
  (await tableLines(database.pool)).filter((line) => line.startsWith('log.events'));
const differences = () => verify({ pool: database.pool, log: app.log }, PROJECTIONS);

const day = (days: number): string => daysAgo(days).slice(0, 10);
const RANDOM_PATHS = Array.from({ length: RANGES }, () => {
  const [first, last] = [random.int(OLDEST_DAYS + 10), random.int(OLDEST_DAYS + 10)].sort((a, b) => b - a);
  const range = `startDate=${day(first!)}&endDate=${day(last!)}${random.chance(0.5) ? '&brandSlug=wallet' : ''}`;
  return {
    organization: random.pick(ORGANIZATIONS),
    paths: [
      `metrics?${range}`,
      `metrics/timeline?${range}&interval=${random.pick(['day', 'week', 'month'])}`,
      `metrics/comparison?${range}`,
      `takedowns/statistics?${range}`,
    ],
  };
});

/** The answers for all ranges as text. */
const answersOf = async (): Promise<string[]> => {
  const answers: string[] = [];
  for (const { organization, paths } of RANDOM_PATHS)
    for (const body of await Promise.all(paths.map((path) => get(organization, `organization/${path}`))))
      answers.push(JSON.stringify({ ...body, asOf: null }));
  return answers;
};

const statusOf = async (content: string): Promise<string> =>
  (await app.call('/v2/asset/check', { method: 'POST', key: keys['acme']!, json: { content } })).body.status;

const expectKilled = async (failing: { mockRestore(): void }): Promise<void> => {
  const { code, err } = await apply();
  failing.mockRestore();
  expect([code, err]).toEqual([1, expect.stringContaining('killed')]);
};

describe('retention apply', () => {
  beforeAll(async () => {
    const upstream = await app.issueKey({ scopes: ['ingest'] });
    for (const organization of ORGANIZATIONS) {
      keys[organization] = await organizationWithGroup(app, organization);
      await report(app, upstream, eventsOf(organization));
    }
    await report(app, upstream, STATUSES);
    // A parked event of an old record. Its content would come back when the event is applied.
    const parked = stored(sentThreat('t-old-0', { organization: 'acme', asset: url('parked.example') }));
    await app.log.append(parked.stream, 'any', [{ ...parked.event, data: { ...parked.event.data, status: 7 } }]);
    // Only version 2.2 had parked this event. Nothing of this version would retry or drop it.
    const { rowCount } = await database.pool.query(`
      insert into read.parked_events
        (projection, event_id, position, stream, revision, type, data, metadata, reason, parked_at)
      select 'records', event_id, position, stream, revision, type, '{}', '{}', '', 0 from log.events
      where data ->> 'organization' = 'acme' and data ->> 'threatId' = 't-old-1' limit 1`);
    expect(rowCount).toBe(1);
    await projecting.reached();
  });

  it.each([['730'], ['2y'], ['0d'], ['-1d'], ['7.5d'], ['']])('refuses the age %j with exit code 2', async (age) => {
    const { code, err } = await retention('apply', `--older-than=${age}`);
    expect([code, err]).toEqual([2, expect.stringContaining('a number of days from 1 to 99999 followed by d')]);
  });

  it('requires an age', async () => {
    expect(await retention('apply')).toMatchObject({ code: 2, err: expect.stringContaining('--older-than') });
  });

  it('exits with 0 if nothing is older than the age', async () => {
    const before = await eventLines();
    const { code, out } = await retention('apply', '--older-than', '9000d');
    expect([code, out]).toEqual([0, expect.stringMatching(/^Nothing to redact before \d{4}-/)]);
    expect(await eventLines()).toEqual(before);
  });

  it('redacts what is older than the age, keeps every count, and has the same end after it was killed', async () => {
    const [answers, lists] = [await answersOf(), new Map<string, unknown>()];
    const shapeOf = async (organization: string, kind: string): Promise<unknown> =>
      (await get(organization, `organization/${kind}?limit=1000`)).items.map((item: any) => ({ ...item, asset: null }));
    for (const organization of ORGANIZATIONS)
      for (const kind of ['threats', 'takedowns', 'verdicts'])
        lists.set(`${organization} ${kind}`, await shapeOf(organization, kind));
    const kept = await linesWith('kept');
    const dry = await apply('--dry-run');
    expect([dry.code, JSON.parse(dry.out).events]).toEqual([
      0,
      {
        ThreatStatusChanged: 2 * (2 * OLD_THREATS + 4),
        TakedownFiled: 2,
        TakedownStatusChanged: 2,
        AssetStatusChanged: 4,
        AssetStatusChangeDeleted: 1,
      },
    ]);
    expect(await linesWith('ContentRedacted')).toEqual([]);

    // Killed after the events were appended and before they were applied.
    await projecting.stop();
    const head = Number(await app.log.head());
    const count = COUNT_CHECKPOINTS_AT.run.bind(COUNT_CHECKPOINTS_AT);
    await expectKilled(
      jest.spyOn(COUNT_CHECKPOINTS_AT, 'run').mockImplementation((connection, values) => {
        if (Number(values.position) > head) throw new Error('killed');
        return count(connection, values);
      }),
    );
    expect(Number(await app.log.head())).toBeGreaterThan(head);
    projecting.start();
    await projecting.reached();
    expect(await differences()).toEqual([]);

    // Killed between two batches that rewrite events.
    const lock = LOCK_EVENTS.run.bind(LOCK_EVENTS);
    const failing = jest.spyOn(LOCK_EVENTS, 'run').mockImplementationOnce(lock);
    await expectKilled(failing.mockRejectedValueOnce(new Error('killed')));
    const left = (await linesWith('expired')).length;
    expect(left).toBeGreaterThan(0);
    expect(left).toBeLessThan(2 * 2 * OLD_THREATS);
    await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
    await projecting.reached();

    const { code, out } = await apply();
    expect([code, Object.keys(JSON.parse(out))]).toEqual([0, ['before', 'events']]);
    await projecting.reached();
    const ofReads = (lines: readonly string[]): string[] => lines.filter((line) => line.startsWith('read.'));
    expect(await linesWith('expired')).toEqual([]);
    expect((await linesWith('kept')).filter((line) => line.startsWith('log.'))).toEqual(
      kept.filter((line) => line.startsWith('log.') && !line.includes('expired')),
    );
    expect(ofReads(await linesWith('kept')).length).toBeGreaterThan(10);
    expect((await linesWith('parked.example')).some((line) => line.startsWith('log.events'))).toBe(true);
    expect(await differences()).toEqual([]);
    const { rows } = await database.pool.query(`
      select stream from log.events where type = 'ContentRedacted' group by stream, data::jsonb - 'redactedAt'
      having count(*) > 1`);
    expect(rows).toEqual([]);

    for (const organization of ORGANIZATIONS) {
      for (const kind of ['threats', 'takedowns', 'verdicts'])
        expect(await shapeOf(organization, kind)).toEqual(lists.get(`${organization} ${kind}`));
      const { items } = await get(organization, 'organization/threats?limit=1000');
      const contents = Object.fromEntries(items.map(({ id, asset }: any) => [id, asset.content]));
      expect(contents).toMatchObject({
        't-old-7': '[redacted]',
        't-moved': '[redacted]',
        't-member': '[redacted]',
        't-young': 'kept-young.example',
        't-border': 'kept-border.example',
      });
      const { assets } = await get(organization, 'organization/asset-groups/1/assets');
      expect(assets.map(({ content }: any) => content)).toEqual(['kept-member.example']);
      const { items: verdicts } = await get(organization, 'organization/verdicts');
      expect(Object.fromEntries(verdicts.map(({ id, asset }: any) => [id, asset.content.replace(/.*\//, '')]))).toEqual(
        {
          'c-a1': '[redacted]',
          'c-a2': 'kept-a2',
          'c-b1': '[redacted]',
          'c-b2': 'kept-b2',
          'c-c1': 'kept-c1',
          'c-d1': 'kept-d1',
          'c-d2': 'kept-d2',
        },
      );
    }
    for (const content of BLOCKED)
      await eventually(`${content} is blocked`, async () => (await statusOf(content)) === 'BLOCKED');
    expect(await answersOf()).toEqual(answers);

    // A repeated call and a rebuild change nothing.
    const end = await eventLines();
    const again = await apply();
    expect([again.code, JSON.parse(again.out).events]).toEqual([0, {}]);
    expect(await eventLines()).toEqual(end);
    await rebuild({ pool: database.pool, log: app.log }, PROJECTIONS);
    expect(await linesWith('expired')).toEqual([]);
    expect(await answersOf()).toEqual(answers);
  });

  it('redacts a content again if the same state is sent again later', async () => {
    const old = { createdAt: daysAgo(1_000), updatedAt: daysAgo(900) };
    const content = (kind: string) => ({ asset: url(`https://resent-${kind}.example/expired`) });
    // Of two states with the same version, the one with the greater id is in force.
    const twice = (sentAs: (id: string) => Sent): Sent[] =>
      ['again-1', 'again-2'].map(sentAs).sort((one, other) => (eventId(one) < eventId(other) ? -1 : 1));
    const records = [
      twice((id) => sentThreat('t-again', { organization: 'acme', ...content('threat'), ...old }, id)),
      twice((id) =>
        sentStatus('c-again', { ...content('entry'), brandReviews: reviews, createdAt: old.createdAt }, id),
      ),
    ];
    await app.log.appendAll([
      stored(sentStatus('c-current', { ...content('entry'), status: 'BLOCKED', createdAt: daysAgo(800) })),
    ]);
    for (const time of [0, 1]) {
      await app.log.appendAll(records.map((states) => stored(states[time]!)));
      await projecting.reached();
      expect((await linesWith('resent-')).length).toBeGreaterThan(0);
      expect((await apply()).code).toBe(0);
      expect(
        (await linesWith('resent-threat'))
          .concat(await linesWith('c-again'))
          .filter((line) => line.includes('resent-')),
      ).toEqual([]);
    }
    expect(await differences()).toEqual([]);
  });

  it('keeps an entry that returns to force when a newer one expires, and redacts one that has expired', async () => {
    const entry = (changeId: string, host: string, days: number, expiresInDays?: number): Sent =>
      sentStatus(changeId, {
        asset: url(`https://${host}.example`),
        status: 'BLOCKED',
        createdAt: daysAgo(days),
        ...(expiresInDays !== undefined && { expiresAt: daysAgo(-expiresInDays) }),
      });
    await app.log.appendAll(
      [
        entry('c-returns', 'lasting-until-friday', 1_000),
        entry('c-until-friday', 'lasting-until-friday', 900, 3),
        entry('c-returned', 'lasting-since-friday', 1_000),
        entry('c-lapsed', 'lasting-since-friday', 900, -800),
        entry('c-shorter', 'lasting-no-longer', 1_000, 2),
        entry('c-longer', 'lasting-no-longer', 900, 3),
      ].map((event) => stored(event)),
    );
    await projecting.reached();
    const rows = async (): Promise<string[]> =>
      (await linesWith('lasting-until-friday')).filter((line) => line.startsWith('read.asset_statuses '));
    const before = await rows();
    expect(before).toEqual([expect.stringContaining('"since"')]);
    expect((await apply()).code).toBe(0);
    expect(await rows()).toEqual(before);
    const log = (await eventLines()).filter((line) => line.includes('lasting-'));
    const kept = ['returns', 'until-friday', 'returned', 'lapsed', 'shorter', 'longer'].filter((id) =>
      log.some((line) => line.includes(`"c-${id}"`)),
    );
    expect(kept).toEqual(['returns', 'until-friday', 'returned', 'longer']);
    expect(await differences()).toEqual([]);
  });

  it('redacts a record once if its states are found in several rounds', async () => {
    const round = 50;
    const state = (days: number): Sent =>
      sent('TakedownStatusChanged', {
        ...EXAMPLES.TakedownStatusChanged,
        organization: 'acme',
        takedownId: 'k-rounds',
        brand: 'wallet',
        asset: url('rounds.example'),
        createdAt: daysAgo(1_000),
        updatedAt: daysAgo(days),
      });
    const between = (days: number): Sent[] =>
      Array.from({ length: round }, (_, n) => sentReport(`r-rounds-${days}-${n}`, { organization: 'acme' }));
    expect((await apply()).code).toBe(0);
    for (const days of [900, 850, 800]) await app.log.appendAll([state(days), ...between(days)].map(stored));
    await projecting.reached();
    let { id: last } = (await get('acme', 'organization/feed?limit=1000')).at(-1);
    const received: string[] = [];
    const follow = async (): Promise<void> => {
      for (const element of await get('acme', `organization/feed?lastEventId=${last}`)) {
        last = element.id;
        received.push(JSON.stringify(element));
      }
    };
    const rewrite = REWRITE_CONTENTS.run.bind(REWRITE_CONTENTS);
    const rounds = jest.spyOn(REWRITE_CONTENTS, 'run').mockImplementation(async (...values) => {
      await follow();
      return rewrite(...values);
    });
    await applyRetention(app, 730 * 86_400_000, 'operator', { positionsPerRound: round });
    expect(rounds.mock.calls.length).toBe(3);
    rounds.mockRestore();
    await projecting.reached();
    await follow();
    expect(await linesWith('rounds.example')).toEqual([]);
    const redactions = (await eventLines()).filter((line) => line.includes('ContentRedacted'));
    expect(redactions.filter((line) => line.includes('k-rounds'))).toHaveLength(1);
    expect(received.filter((element) => element.includes('k-rounds'))).toHaveLength(1);
  });

  it('drops the tables that a killed rebuild or verification has left, and not those of a running one', async () => {
    const schemas = ['read_check_register', 'read_next_metrics'];
    for (const schema of schemas) await database.pool.query(`create schema "${schema}" create table register ()`);
    const left = async (): Promise<string[]> =>
      (await SHADOW_SCHEMAS.run(database.pool, {})).map(({ name }) => name).sort();
    const running = await database.pool.connect();
    try {
      await running.query(`select pg_advisory_lock(hashtext('read_next_metrics'))`);
      expect((await apply('--dry-run')).code).toBe(0);
      expect(await left()).toEqual(schemas);
      expect((await apply()).code).toBe(0);
      expect(await left()).toEqual(['read_next_metrics']);
    } finally {
      await running.query('select pg_advisory_unlock_all()');
      running.release();
    }
    expect((await apply()).code).toBe(0);
    expect(await left()).toEqual([]);
  });

  it('leaves the contents of an organization that is being erased to the erasure', async () => {
    const old = (organization: string) =>
      sentThreat(`t-beside-${organization}`, {
        organization,
        asset: url(`beside-${organization}.example`),
        createdAt: daysAgo(1_000),
        updatedAt: daysAgo(900),
      });
    expect((await apply()).code).toBe(0);
    await app.log.appendAll([stored(old('gone')), stored(old('acme'))]);
    await projecting.reached();
    await startErasure(app, await subjectOf(app.log, 'gone'), 'operator');
    expect(JSON.parse((await apply('--dry-run')).out).events).toEqual({ ThreatStatusChanged: 1 });
    const { code, err } = await apply();
    expect([code, err]).toEqual([0, expect.anything()]);
    expect(await linesWith('beside-acme.example')).toEqual([]);
    expect(await linesWith('beside-gone.example')).not.toEqual([]);
  });

  it('keeps the content of a record whose younger state has not been applied yet', async () => {
    const stateAt = (days: number) =>
      sentThreat('t-late', {
        organization: 'acme',
        asset: url('unapplied.example'),
        createdAt: daysAgo(900),
        updatedAt: daysAgo(days),
      });
    const states = [stored(stateAt(900)), stored(stateAt(1))];
    await app.log.append(states[0]!.stream, 'any', [states[0]!.event]);
    await projecting.reached();
    await projecting.stop();
    await app.log.append(states[1]!.stream, 'any', [states[1]!.event]);
    const { code } = await apply();
    projecting.start();
    await projecting.reached();
    expect(code).toBe(0);
    expect((await eventLines()).filter((line) => line.includes('unapplied.example'))).toHaveLength(2);
  });
});

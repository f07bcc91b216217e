import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { rebuild, rebuildOutdated } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { listParked } from '../../projections/engine/parked.js';
import type { Projection } from '../../projections/engine/projection.js';
import { metrics } from '../../projections/metrics/projection.js';
import { register } from '../../projections/register/projection.js';
import { Unavailable } from '../../src/errors.js';
import type { EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { EARLIEST, LATEST } from '../../src/events/instant.js';
import type { RequestedRange } from '../../src/http/parameters.js';
import { GetFalsePositives, GetFalsePositivesHandler } from '../../src/metrics/get-false-positives.js';
import { MetricsQueries } from '../../src/metrics/metrics-queries.js';
import { countValues } from '../../src/metrics/count-sql.js';
import { seeds, sized } from '../support/full-size.js';
import { eventually } from '../support/eventually.js';
import { newDatabase, newLogs } from '../support/open-for-tests.js';
import { projectToHead, retryAndProject } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { recordedInOrder, sent, type Sent, sentThreat } from '../support/upstream.js';
import { delivered, disputes, edgeInstant, history, ORGANIZATIONS } from '../support/histories.js';
import { type NaiveThreat, naiveFalsePositives, naiveThreats } from './naive-false-positives.js';

/** The number of ranges that are compared. */
const RANGES = sized(300, 1_000);

const PROJECTIONS = [metrics, register];

const database = newDatabase();
const logs = newLogs();

const project = async (log: EventLog): Promise<void> =>
  expect(await projectToHead(log, database.pool, PROJECTIONS)).toEqual([]);

/** Changes of few threats, each of which has many states, and disputes with up to two resolutions each. */
const threatsAndDisputes = (random: Random): Sent[] => {
  const threats = history(random, 1_500)
    .filter(({ type }) => type.startsWith('Threat'))
    .map((event) => ({ ...event, data: { ...event.data, threatId: `t${random.int(40)}` } }));
  return [...threats, ...disputes(random, 100)];
};

const ask = async (organization: string, range: RequestedRange) => {
  const handler = new GetFalsePositivesHandler(new MetricsQueries(database.pool));
  return (await handler.execute(new GetFalsePositives({ organization, range }))).result;
};

const storedIn = async (log: EventLog): Promise<RecordedEvent[]> =>
  (await log.readAll(-1n, 10_000)).filter(({ type }) => (register.types as readonly string[]).includes(type));

/** The counts by day and type of organizations, and the same counts according to naive threats. */
const daysInTable = async (): Promise<unknown[]> =>
  (
    await database.pool.query(`
      select organization, day, type, sum(n)::bigint as counted, sum(wrong)::bigint as wrong from (
        select organization, day, type, n, 0 as wrong from read.type_days where brand = ''
        union all select organization, day, type, counted, false_positives from read.changed_threat_days
      ) counts
      group by 1, 2, 3 having sum(n) <> 0 or sum(wrong) <> 0 order by 1, 2, 3`)
  ).rows;
const naiveDays = (threats: readonly NaiveThreat[]): unknown[] => {
  const days = new Map<string, { organization: string; day: number; type: string; counted: number; wrong: number }>();
  for (const { organization, first, newest } of threats) {
    if (first === undefined) continue;
    const [day, type] = [Math.floor(first[0] / 86_400_000), first[1]];
    const key = `${organization} ${String(day + 1e6).padStart(8, '0')} ${type}`;
    const { counted, wrong } = days.get(key) ?? { counted: 0, wrong: 0 };
    days.set(key, { organization, day, type, counted: counted + 1, wrong: wrong + (newest ? 0 : 1) });
  }
  return [...days].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, day]) => day);
};

/** The changed threats, and the same threats according to naive threats. */
const changedInTable = async (): Promise<unknown[]> =>
  (await database.pool.query('select * from read.changed_threats order by organization, id')).rows;
const naiveChanges = (threats: readonly NaiveThreat[]) =>
  threats.flatMap(({ organization, id, first, newest }) =>
    first === undefined || isDeepStrictEqual(first, newest)
      ? []
      : {
          organization,
          id,
          counted_at: first[0],
          type: first[1],
          newest_at: newest?.[0] ?? null,
          newest_type: newest?.[1] ?? null,
        },
  );

describe('The false positives', () => {
  it.each(seeds(1, 6))(
    'are the same as in a naive recount if events arrive twice, late or out of order, and after a rebuild (seed %d)',
    async (seed) => {
      const random = new Random(seed);
      const recorded = recordedInOrder(delivered(random, threatsAndDisputes(random)));
      const log = await logs.create(recorded, () => random.int(random.pick([2, 30, 400])));
      await project(log);
      const stored = await storedIn(log);
      const threats = naiveThreats(stored);
      expect(await changedInTable()).toEqual(naiveChanges(threats));
      expect(await daysInTable()).toEqual(naiveDays(threats));
      expect(threats.filter(({ first, newest }) => first && !newest).length).toBeGreaterThan(20);
      expect(naiveChanges(threats).filter(({ newest_at: at }) => at !== null).length).toBeGreaterThan(2);
      expect(threats.filter(({ first }) => first === undefined).length).toBeGreaterThan(2);

      const differences: unknown[] = [];
      let [falsePositives, resolved] = [0, 0];
      for (let round = 0; round < RANGES; round += 1) {
        const organization = random.pick(ORGANIZATIONS);
        const [from, to] = [edgeInstant(random), edgeInstant(random)].sort((a, b) => a - b) as [number, number];
        const range = random.pick([
          ...Array.from({ length: 9 }, () => ({ from, to })),
          { from, to: LATEST },
          { from: EARLIEST, to },
        ]);
        const answer = await ask(organization, range);
        const expected = naiveFalsePositives(threats, stored, { organization, ...range });
        if (!isDeepStrictEqual(answer, expected)) differences.push({ organization, range, answer, expected });
        if (answer.totals.falsePositives > 0) falsePositives += 1;
        if (answer.disputes.medianTimeToResolution !== null) resolved += 1;
      }
      expect(differences.slice(0, 3)).toEqual([]);
      expect(Math.min(falsePositives, resolved)).toBeGreaterThan(0.3 * RANGES);

      expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toEqual([]);
      await rebuild({ pool: database.pool, log }, PROJECTIONS);
      expect(await changedInTable()).toEqual(naiveChanges(threats));
      expect(await daysInTable()).toEqual(naiveDays(threats));
    },
  );

  it('contain a threat whose deletion arrived before its only counted state', async () => {
    const deletion = sent('ThreatDeleted', { organization: 'acme', threatId: 't1', deletedAt: '2026-03-03T00:00:00Z' });
    const at = '2026-03-02T00:00:00Z';
    await project(
      await logs.create(
        recordedInOrder([deletion, sentThreat('t1', { status: 'BLOCKED', createdAt: at, updatedAt: at })]),
        () => 1,
      ),
    );
    expect(await ask('acme', { from: EARLIEST, to: LATEST })).toMatchObject({
      totals: { counted: 1, falsePositives: 1, rate: 1 },
      byDay: [{ date: '2026-03-02', counted: 1, falsePositives: 1, rate: 1 }],
    });
  });

  it('are unavailable until the metrics have been rebuilt by a version that writes the changed threats', async () => {
    const log = await logs.create(recordedInOrder([sentThreat('t1')]));
    await project(log);
    await database.pool.query(`update read.checkpoints set version = 2 where projection = 'metrics'`);
    await expect(ask('acme', { from: EARLIEST, to: LATEST })).rejects.toThrow(Unavailable);
    const source = { pool: database.pool, log };
    await rebuildOutdated(source, PROJECTIONS, { say: () => {}, warn: () => {} }, AbortSignal.timeout(30_000));
    expect((await ask('acme', { from: EARLIEST, to: LATEST })).totals.counted).toBe(1);
  });

  it('contain a parked threat after a retry', async () => {
    const at = '2026-03-02T00:00:00Z';
    const state = { createdAt: at, updatedAt: at };
    const log = await logs.create(recordedInOrder([sentThreat('t1', state), sentThreat('t2', state)]));
    const failing: Projection = {
      ...metrics,
      prepare: (events, recorded) =>
        events.some(({ stream }) => stream.endsWith('t2'))
          ? Promise.reject(Object.assign(new Error('fails'), { code: '22000' }))
          : (metrics as Projection).prepare(events, recorded),
    };
    expect(await projectToHead(log, database.pool, [failing, register])).toHaveLength(1);
    expect((await ask('acme', { from: EARLIEST, to: LATEST })).totals.counted).toBe(1);
    const [parked] = await listParked(database.pool);
    expect(await retryAndProject({ pool: database.pool, log }, metrics, parked!)).toBeUndefined();
    expect((await ask('acme', { from: EARLIEST, to: LATEST })).byDay).toEqual([
      { date: '2026-03-02', counted: 2, falsePositives: 0, rate: 0 },
    ]);
  });

  it('differ in a verification if a count by day is wrong', async () => {
    const at = '2026-03-02T00:00:00Z';
    const deletion = sent('ThreatDeleted', { organization: 'acme', threatId: 't1', deletedAt: '2026-03-03T00:00:00Z' });
    const log = await logs.create(recordedInOrder([sentThreat('t1', { createdAt: at, updatedAt: at }), deletion]));
    await project(log);
    await database.pool.query('update read.changed_threat_days set counted = 2');
    expect(await verify({ pool: database.pool, log }, PROJECTIONS)).toMatchObject([
      { table: 'changed_threat_days', side: 'only in the read model', row: { counted: 2 } },
      { table: 'changed_threat_days', side: 'only in the rebuild', row: { counted: 1 } },
    ]);
  });

  it('of whole days are read without the threats', async () => {
    await project(await logs.create(recordedInOrder([sentThreat('t1'), sentThreat('t2')])));
    await database.pool.query('delete from read.facts');
    expect((await ask('acme', { from: EARLIEST, to: LATEST })).totals.counted).toBe(2);
  });

  it('of a partial day are read by index-only scans', async () => {
    const organizations = `unnest(array['acme', 'b']) o, generate_series(1, 20000) i`;
    const connection = await database.pool.connect();
    // A vacuum does not mark rows as visible while the commit of a neighbouring transaction, also of another spec on the
    // server, is not on disk.
    await connection.query('set synchronous_commit = on');
    await connection.query(`
      insert into read.facts select o, '', i * 1000000::bigint, 2, 'URL', 't' || i from ${organizations};
      insert into read.changed_threats select o, 't' || i, i * 1000000::bigint, 'URL', i * 1000000::bigint, 'PAGE'
      from ${organizations}`);
    await eventually('all pages are marked', async () => {
      await connection.query('vacuum analyze read.facts, read.changed_threats');
      const marked = `select from pg_class where oid in ('read.facts'::regclass, 'read.changed_threats'::regclass) and relallvisible < relpages`;
      return (await connection.query(marked)).rowCount === 0;
    });
    connection.release(true);
    const { FALSE_POSITIVES } = await import('../../src/metrics/get-false-positives.js');
    const range = { from: 5_000_000_000, to: 6_000_000_000 };
    const { text, values } = FALSE_POSITIVES.query(countValues('acme', '', range));
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${text}`, values);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    for (const index of ['facts_pkey', 'changed_threats_by_time', 'changed_threats_by_newest'])
      expect(plan).toMatch(new RegExp(`Index Only Scan using ${index}[^\\n]*\\n[^\\n]*\\n\\s*Heap Fetches: 0`));
  });
});

import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { versionOf } from '../../projections/engine/projection.js';
import { records } from '../../projections/records/projection.js';
import { Unavailable } from '../../src/errors.js';
import type { EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { EARLIEST, LATEST } from '../../src/events/instant.js';
import type { RequestedRange } from '../../src/http/range.js';
import { GetFalsePositives, GetFalsePositivesHandler } from '../../src/metrics/false-positives/get-false-positives.js';
import { MetricsQueries } from '../../src/metrics/metrics-queries.js';
import { seeds, sized } from '../support/full-size.js';
import { newDatabase, newLogs } from '../support/open-for-tests.js';
import { projectToHead } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { recordedInOrder, sent, type Sent, sentThreat } from '../support/upstream.js';
import { delivered, disputes, edgeInstant, history, ORGANIZATIONS } from './histories.js';
import { naiveFalsePositives, naiveThreats } from './naive-false-positives.js';

/** The number of ranges that are compared. */
const RANGES = sized(300, 1_000);

const database = newDatabase();
const logs = newLogs();

const project = async (log: EventLog): Promise<void> =>
  expect(await projectToHead(log, database.pool, [records])).toEqual([]);

/** Changes of few threats, each of which has many states, and disputes with up to two resolutions each. */
const threatsAndDisputes = (random: Random): Sent[] => {
  const threats = history(random, 1_500)
    .filter(({ type }) => type.startsWith('Threat'))
    .map((event) => ({ ...event, data: { ...event.data, threatId: `t${random.int(40)}` } }));
  return [...threats, ...disputes(random, 100)];
};

const ask = async (organization: string, range: RequestedRange) => {
  const handler = new GetFalsePositivesHandler(new MetricsQueries(database.pool));
  return (await handler.execute(new GetFalsePositives(organization, range))).result;
};

const storedIn = async (log: EventLog): Promise<RecordedEvent[]> =>
  (await log.readAll(-1n, 10_000)).filter(({ type }) => (records.types as readonly string[]).includes(type));

const threatsInTable = async (): Promise<unknown[]> => {
  const { rows } = await database.pool.query<Record<string, any>>(
    'select * from read.counted_threats order by organization, id',
  );
  return rows.map(({ organization, id, counts, counted_at: countedAt, type }) => ({
    organization,
    id,
    counts,
    first: countedAt === null ? undefined : [countedAt, type],
  }));
};

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
      expect(await threatsInTable()).toEqual(threats);
      expect(threats.filter(({ first, counts }) => first && !counts).length).toBeGreaterThan(20);
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

      expect(await verify({ pool: database.pool, log }, [records])).toEqual([]);
      await rebuild({ pool: database.pool, log }, [records]);
      expect(await threatsInTable()).toEqual(threats);
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

  it('are unavailable while the rows of the records are of a version that has not counted all threats', async () => {
    await project(await logs.create(recordedInOrder([sentThreat('t1')])));
    await database.pool.query(`update read.checkpoints set version = 4000 where projection = 'records'`);
    await expect(ask('acme', { from: EARLIEST, to: LATEST })).rejects.toThrow(Unavailable);
    await database.pool.query('update read.checkpoints set version = $1', [versionOf(records)]);
    expect((await ask('acme', { from: EARLIEST, to: LATEST })).totals.counted).toBe(1);
  });

  it('of a range are read by an index-only scan', async () => {
    await database.pool.query(`
      insert into read.counted_threats
      select o, 't' || i, 2, gen_random_uuid(), i % 10 > 0, i * 1000000::bigint, 'URL'
      from unnest(array['acme', 'b']) o, generate_series(1, 20000) i`);
    await database.pool.query('vacuum analyze read.counted_threats');
    const { FALSE_POSITIVES } = await import('../../src/metrics/false-positives/false-positives-sql.js');
    const { text, values } = FALSE_POSITIVES.query({ organization: 'acme', from: 5_000_000_000, to: 6_000_000_000 });
    const { rows } = await database.pool.query<{ 'QUERY PLAN': string }>(`explain (analyze, buffers) ${text}`, values);
    const plan = rows.map((row) => row['QUERY PLAN']).join('\n');
    expect(plan).toMatch(/Index Only Scan using counted_threats_by_time[^\n]*\n[^\n]*\n\s*Heap Fetches: 0/);
  });
});

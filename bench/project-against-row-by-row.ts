import type { PoolClient } from 'pg';
import { factsOf } from '../src/events/facts.js';
import type { ProjectedEvent } from '../projections/engine/projection.js';
import { decodeEvent } from '../projections/engine/parking.js';
import { BEGINNING, type EventLog } from '../src/event-log/event-log.js';
import type { UpstreamEvent } from '../src/events/event.js';
import { dayOf } from '../src/events/instant.js';
import { recordOf } from '../src/events/record.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { type Goal, measure, rates } from './goal.js';
import { catchUp, filledLog, project } from './log-work.js';
import type { Slice } from './paired.js';

const statement = (name: string, text: string) => ({ name: `bench-${name}`, text });
const FIND = statement('find', 'select counts from read.records where organization = $1 and kind = $2 and id = $3');
const KEEP = statement(
  'keep',
  `insert into read.records values ($1, $2, $3, $4, $5, $6) on conflict (organization, kind, id)
   do update set version = excluded.version, event_id = excluded.event_id, counts = excluded.counts`,
);
const FACTS = statement(
  'facts',
  `with gone as (
     delete from read.facts f using jsonb_to_recordset($1::jsonb)
       d (organization text, brand text, at bigint, measure smallint, type text)
     where f.organization = d.organization and f.brand = d.brand and f.at = d.at and f.measure = d.measure
       and f.type = d.type and f.record = $3
   )
   insert into read.facts select organization, brand, at, measure, type, $3 from jsonb_to_recordset($2::jsonb)
     d (organization text, brand text, at bigint, measure smallint, type text)`,
);
const DAYS = statement(
  'days',
  `merge into read.days t
   using jsonb_to_recordset($1::jsonb) s (organization text, brand text, measure smallint, day int, n bigint)
   on t.organization = s.organization and t.brand = s.brand and t.measure = s.measure and t.day = s.day
   when matched and t.n + s.n = 0 then delete
   when matched then update set n = t.n + s.n
   when not matched then insert (organization, brand, measure, day, n)
     values (s.organization, s.brand, s.measure, s.day, s.n)`,
);
const MOVE = statement('move', `update read.checkpoints set position = $1 where projection = 'metrics'`);

type Fact = ReturnType<typeof factsOf>[number];

const rows = (facts: readonly Fact[]): string =>
  JSON.stringify(facts.map(([organization, brand, at, measure, type]) => ({ organization, brand, at, measure, type })));

/** Projects one event in the simplest way: in a separate transaction. */
const applyOne = async (connection: PoolClient, { event, id, position }: ProjectedEvent<UpstreamEvent>) => {
  const run = (query: { name: string; text: string }, ...values: unknown[]) => connection.query({ ...query, values });
  const record = recordOf(event);
  const key = [record.organization, record.kind, record.id];
  const now = factsOf(event);
  await connection.query('begin');
  const before = ((await run(FIND, ...key)).rows[0] as { counts: Fact[] } | undefined)?.counts ?? [];
  await run(KEEP, ...key, record.version, id, JSON.stringify(now));
  const removed = before.filter((fact) => !now.some((other) => String(other) === String(fact)));
  const added = now.filter((fact) => !before.some((other) => String(other) === String(fact)));
  await run(FACTS, rows(removed), rows(added), record.id);
  const days = new Map<string, { organization: string; brand: string; measure: number; day: number; n: number }>();
  for (const [facts, n] of [
    [removed, -1],
    [added, 1],
  ] as const)
    for (const [organization, brand, at, measure] of facts) {
      const cell = { organization, brand, measure, day: dayOf(at) };
      const text = Object.values(cell).join();
      days.set(text, { ...cell, n: (days.get(text)?.n ?? 0) + n });
    }
  await run(DAYS, JSON.stringify([...days.values()].filter(({ n }) => n !== 0)));
  await run(MOVE, String(position));
  await connection.query('commit');
};

/** A slice that applies one event after another. */
const oneByOne = async (
  log: EventLog,
  { pool }: Database,
): Promise<Slice & { upTo(end: bigint): Promise<void>; release(): void }> => {
  const connection = await pool.connect();
  await connection.query(`insert into read.checkpoints values ('metrics', 'bench', -1, 0)`);
  let page: ProjectedEvent<UpstreamEvent>[] = [];
  let position = BEGINNING;
  let read = BEGINNING;
  const applyNext = async (): Promise<void> => {
    if (page.length === 0) {
      const events = await log.readAll(read, 1_000);
      if (events.length === 0)
        throw new Error('The log has no more events: it is too short for the speed of this machine');
      read = events.at(-1)!.position;
      page = events.flatMap((recorded) => {
        const result = decodeEvent(recorded);
        const isCounted = result.kind === 'read' && result.projected.event.type !== 'LogOpened';
        return isCounted ? [result.projected as ProjectedEvent<UpstreamEvent>] : [];
      });
    }
    const event = page.shift()!;
    await applyOne(connection, event);
    position = event.position;
  };
  const slice = async (ms: number): Promise<number> => {
    const from = performance.now();
    let done = 0;
    for (; performance.now() - from < ms; done += 1) await applyNext();
    return (done * 1000) / (performance.now() - from);
  };
  const upTo = async (end: bigint): Promise<void> => {
    while (position < end) await applyNext();
  };
  return Object.assign(slice, { upTo, release: () => connection.release() });
};

/** The peer does not keep since when a fact counts. */
const counted = async ({ pool }: Database): Promise<unknown> =>
  (
    await pool.query(`
      select (
               select json_agg(f order by f::text)
               from (select organization, brand, at, measure, type, record from read.facts) f
             ) as facts,
             (select json_agg(d order by d::text) from read.days d) as days`)
  ).rows;

/** Compares the projection with one that applies each event in a separate transaction of five statements. */
export const projectAgainstRowByRow: Goal = {
  name: 'G4b',
  run: async (bench) => {
    const filled = await filledLog(bench);
    const [projected, peer] = [await bench.database(), await bench.database()];
    const base = await oneByOne(filled.log, peer);
    bench.onEnd(() => Promise.resolve(base.release()));
    const reached = await project(filled, projected.pool, (at) => at >= 500n);
    await base.upTo(reached);
    requireEqual('facts and days', await counted(peer), await counted(projected));
    const paired = await measure(bench, 'G4b', { base, target: catchUp(filled, filled.database.pool) });
    return [
      {
        what: 'projection from a filled log',
        against: 'one transaction and five statements per event',
        measured: paired.ratio,
        unit: '×',
        must: 45,
        aim: 75,
        note: rates(paired, 'events per second'),
      },
    ];
  },
};

import type { Pool } from 'pg';
import { brandsAndFlags as brandsAndFlagsProjection } from '../../projections/brands-and-flags.js';
import { metrics } from '../../projections/metrics/projection.js';
import { InMemoryEventLog } from '../../test/support/in-memory-event-log.js';
import type { Random } from '../../test/support/random.js';
import { projectToHead } from '../../test/support/projecting.js';
import { recordedInOrder, type Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkMetrics, checkVerify, waitUntilCounted, sentOf, wholeLog } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import type { RunContext } from '../rig/run-context.js';
import { type Statement, interceptQueries } from '../../test/support/query-interceptor.js';

interface Scale {
  readonly events: number;
}

const BATCH = 500;
/** Tables and columns that say when the service learned something, which the order of arrival decides. */
const OF_ARRIVAL = { tables: ['former_states', 'former_facts', 'log_clock'], columns: ['position', 'since', 'lag'] };
const TABLES = [...metrics.tables, ...brandsAndFlagsProjection.tables].filter(
  (table) => !OF_ARRIVAL.tables.includes(table),
);

/** Returns a fingerprint of the rows of each table, without what the order of arrival decides. */
const fingerprints = async (pool: Pool): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const table of TABLES) {
    const text = `
      select count(*) || ' rows, ' || coalesce(md5(string_agg(t, chr(10) order by t)), '') as print
      from (select (to_jsonb(t) - $1::text[])::text as t from read.${table} t) t`;
    found[table] = (await pool.query<{ print: string }>(text, [OF_ARRIVAL.columns])).rows[0]!.print;
  }
  return found;
};

/** Returns the fingerprints after a run in which every event arrived once and in order. */
const cleanRun = async (context: RunContext, events: readonly Sent[]): Promise<Record<string, string>> => {
  const { pool } = await context.database();
  await projectToHead(new InMemoryEventLog(recordedInOrder(events)), pool, [metrics, brandsAndFlagsProjection]);
  return fingerprints(pool);
};

const compare = (clean: Record<string, string>, other: Record<string, string>): string[] =>
  TABLES.filter((table) => clean[table] !== other[table]).map(
    (table) => `${table}: ${other[table]}; in the clean run ${clean[table]}`,
  );

/** Returns the batches that are sent to the endpoint. */
type Deliver = (random: Random, events: readonly Sent[]) => Sent[][];

const deliver = async (context: RunContext, { events: size }: Scale, how: Deliver): Promise<Outcome> => {
  const events = [...fullLoad(context.random, size)];
  const batches = how(context.random, events);
  const clean = await cleanRun(context, events);
  const { url, pool } = await context.database();
  const { service, log, keys, env } = await startService(context, { DATABASE_URL: url });
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  await sender.deliver(batches.values());
  await waitUntilCounted(service.url);
  const stored = sentOf(await wholeLog(log));
  const sentTimes = batches.flat().length;
  const findings = [...history.wrong, ...compare(clean, await fingerprints(pool))];
  // Events of a batch whose response was lost, or was 429 or 503, may be stored and are then duplicates in the retry.
  const isAnswered = history.attempts.every(({ status }) => status === 200);
  if ((isAnswered && history.accepted !== events.length) || stored.length !== events.length)
    findings.push(
      `${history.accepted} events were accepted and ${stored.length} stored, but ${events.length} distinct events were sent`,
    );
  findings.push(...(await checkVerify(context, env)), ...(await checkMetrics(service.url, keys, events, context.seed)));
  return {
    workload: `${events.length} events sent ${(sentTimes / events.length).toFixed(2)} times each`,
    observed: `${history.duplicates} recognised as duplicates; every row equals the clean run, except when it became known`,
    findings,
  };
};

/** Makes every event of a record appear newer than the stored version. */
const forgetVersions = ({ text, values }: Statement): Statement => {
  const forgetful = text.replace('known_version as version', '-9007199254740991::bigint as version');
  if (forgetful === text) throw new Error('The statement that finds the known versions has changed');
  return { text: forgetful, values };
};

/** Projects without both guards: the arrival order decides, and the log does not recognise repeated events. */
const deliverUnguarded = async (context: RunContext, how: Deliver): Promise<Outcome> => {
  const events = [...fullLoad(context.random, 1_500)];
  const arrived = how(context.random, events).flat();
  const clean = await cleanRun(context, events);
  const { pool } = await context.database();
  const unguarded = interceptQueries(
    pool,
    () => (statement, send) => send(statement.name === 'metrics-enter-records' ? forgetVersions(statement) : statement),
  );
  await projectToHead(new InMemoryEventLog(recordedInOrder(arrived), { batchSize: () => 10 }), unguarded, [
    metrics,
    brandsAndFlagsProjection,
  ]);
  return {
    workload: `${arrived.length} deliveries`,
    observed: '-',
    findings: compare(clean, await fingerprints(pool)),
  };
};

/** Sends each event one to three times, 1.4 on average, and then repeats one batch in five. */
const repeatedly: Deliver = (random, events) => {
  const batches = [...inBatches(events, BATCH)].map((batch) =>
    batch.flatMap((event) => Array<Sent>(random.chance(0.7) ? 1 : random.chance(2 / 3) ? 2 : 3).fill(event)),
  );
  const whole = batches.flatMap((batch) => [...inBatches(batch, 1_000)]);
  return [...whole, ...whole.filter(() => random.chance(0.2))];
};

/** Shuffles events within a window of 1,000, sends 1 % at the very end, and some deletions before their records. */
const disordered: Deliver = (random, events) => {
  const late = new Set(events.filter(() => random.chance(0.01)));
  const isEarly = (event: Sent): boolean => event.type.endsWith('Deleted') && random.chance(0.3);
  const early = new Set(events.filter((event) => !late.has(event) && isEarly(event)));
  const rest = events.filter((event) => !late.has(event) && !early.has(event));
  return [...inBatches([...early, ...random.shuffled(rest, 1_000), ...random.shuffled([...late])], BATCH)];
};

export const duplicates: Scenario<Scale> = {
  name: 'F7',
  what: 'events are delivered repeatedly, one by one and as whole batches',
  full: { events: 100_000 },
  run: (context, scale) => deliver(context, scale, repeatedly),
  guard: 'the log recognises events by id, and a record keeps its newest version',
  withoutGuard: (context) => deliverUnguarded(context, repeatedly),
};

export const disorder: Scenario<Scale> = {
  name: 'F8',
  what: 'events arrive out of order and very late, deletions before their records',
  full: { events: 100_000 },
  run: (context, scale) => deliver(context, scale, disordered),
  guard: 'the version of a record decides, not the order of arrival',
  withoutGuard: (context) => deliverUnguarded(context, disordered),
};

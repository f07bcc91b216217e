import type { Pool } from 'pg';
import { brandsAndFlags as brandsAndFlagsProjection } from '../../projections/brands-and-flags/projection.js';
import { metrics } from '../../projections/metrics/projection.js';
import { InMemoryEventLog } from '../../test/support/in-memory-event-log.js';
import type { Random } from '../../test/support/random.js';
import { projectToHead } from '../../test/support/projecting.js';
import { recordedInOrder, type Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkMetrics, checkVerify, counted, sentOf, wholeLog } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { open } from '../rig/opened.js';
import type { Scene } from '../rig/scene.js';
import { type Statement, tampered } from '../rig/tamper.js';

interface Dose {
  readonly events: number;
}

const BATCH = 500;
const TABLES = [...metrics.tables, ...brandsAndFlagsProjection.tables];

/** Every row of every counted table, as a fingerprint a table. */
const fingerprints = async (pool: Pool): Promise<Record<string, string>> => {
  const found: Record<string, string> = {};
  for (const table of TABLES) {
    const text = `select count(*) || ' rows, ' || coalesce(md5(string_agg(t::text, chr(10) order by t::text)), '') as print from read.${table} t`;
    found[table] = (await pool.query<{ print: string }>(text)).rows[0]!.print;
  }
  return found;
};

/** The rows where everything came once and in order. */
const cleanRun = async (scene: Scene, events: readonly Sent[]): Promise<Record<string, string>> => {
  const { pool } = await scene.database();
  await projectToHead(new InMemoryEventLog(recordedInOrder(events)), pool, [metrics, brandsAndFlagsProjection]);
  return fingerprints(pool);
};

const compare = (clean: Record<string, string>, other: Record<string, string>): string[] =>
  TABLES.filter((table) => clean[table] !== other[table]).map(
    (table) => `${table}: ${other[table]}; in the clean run ${clean[table]}`,
  );

/** What the endpoint is sent, batch by batch. */
type Deliver = (random: Random, events: readonly Sent[]) => Sent[][];

const deliver = async (scene: Scene, { events: size }: Dose, how: Deliver): Promise<Outcome> => {
  const events = [...fullLoad(scene.random, size)];
  const batches = how(scene.random, events);
  const clean = await cleanRun(scene, events);
  const { url, pool } = await scene.database();
  const { service, log, keys, env } = await open(scene, { DATABASE_URL: url });
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 4);
  await sender.deliver(batches.values());
  await counted(service.url);
  const stored = sentOf(await wholeLog(log));
  const sentTimes = batches.flat().length;
  const findings = [...history.wrong, ...compare(clean, await fingerprints(pool))];
  // What was stored of a batch whose answer was lost, or was 429 or 503 on a busy machine, is a duplicate the next time.
  const isAnswered = history.attempts.every(({ status }) => status === 200);
  if ((isAnswered && history.accepted !== events.length) || stored.length !== events.length)
    findings.push(
      `${history.accepted} accepted and ${stored.length} stored where ${events.length} different ones were sent`,
    );
  findings.push(...(await checkVerify(scene, env)), ...(await checkMetrics(service.url, keys, events, scene.seed)));
  return {
    dose: `${events.length} events sent ${(sentTimes / events.length).toFixed(2)} times each`,
    seen: `${history.duplicates} recognised as duplicates, every row as in the clean run`,
    findings,
  };
};

/** Whatever is known of a record, every event of it seems newer. */
const forgetVersions = ({ text, values }: Statement): Statement => {
  const forgetful = text.replace('known_version as version', '-9007199254740991::bigint as version');
  if (forgetful === text) throw new Error('The statement that finds the known versions has changed');
  return { text: forgetful, values };
};

/** The rows if arrival decides, and a log that recognises no event. */
const deliverUnguarded = async (scene: Scene, how: Deliver): Promise<Outcome> => {
  const events = [...fullLoad(scene.random, 1_500)];
  const arrived = how(scene.random, events).flat();
  const clean = await cleanRun(scene, events);
  const { pool } = await scene.database();
  const unguarded = tampered(
    pool,
    () => (statement, send) => send(statement.name === 'metrics-enter-records' ? forgetVersions(statement) : statement),
  );
  await projectToHead(new InMemoryEventLog(recordedInOrder(arrived), { batchSize: () => 10 }), unguarded, [
    metrics,
    brandsAndFlagsProjection,
  ]);
  return { dose: `${arrived.length} deliveries`, seen: '-', findings: compare(clean, await fingerprints(pool)) };
};

/** Each event one to three times, 1.4 on the average, and then a batch in five as a whole once more. */
const repeatedly: Deliver = (random, events) => {
  const batches = [...inBatches(events, BATCH)].map((batch) =>
    batch.flatMap((event) => Array<Sent>(random.chance(0.7) ? 1 : random.chance(2 / 3) ? 2 : 3).fill(event)),
  );
  const whole = batches.flatMap((batch) => [...inBatches(batch, 1_000)]);
  return [...whole, ...whole.filter(() => random.chance(0.2))];
};

/** Shuffled within a window of 1,000, one in a hundred at the very end, and deletions before what they delete. */
const disordered: Deliver = (random, events) => {
  const late = new Set(events.filter(() => random.chance(0.01)));
  const isEarly = (event: Sent): boolean => event.type.endsWith('Deleted') && random.chance(0.3);
  const early = new Set(events.filter((event) => !late.has(event) && isEarly(event)));
  const rest = events.filter((event) => !late.has(event) && !early.has(event));
  return [...inBatches([...early, ...random.shuffled(rest, 1_000), ...random.shuffled([...late])], BATCH)];
};

export const duplicates: Scenario<Dose> = {
  name: 'F7',
  what: 'events are delivered again, one by one and as whole batches',
  full: { events: 100_000 },
  run: (scene, dose) => deliver(scene, dose, repeatedly),
  guard: 'the log knows an event by its id, and a record keeps its newest version',
  without: (scene) => deliverUnguarded(scene, repeatedly),
};

export const disorder: Scenario<Dose> = {
  name: 'F8',
  what: 'events arrive shuffled and very late, deletions before their records',
  full: { events: 100_000 },
  run: (scene, dose) => deliver(scene, dose, disordered),
  guard: 'within a record the version decides, not the order of arrival',
  without: (scene) => deliverUnguarded(scene, disordered),
};

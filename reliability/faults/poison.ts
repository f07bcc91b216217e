import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PROJECTIONS } from '../../projections/registry.js';
import { dispatchBatch } from '../../projections/engine/projector.js';
import { transact } from '../../projections/engine/transaction.js';
import { BEGINNING, type EventLog } from '../../src/event-log/event-log.js';
import { type Sent, sentThreat } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { ask } from '../rig/ask.js';
import { checkLog, checkMetrics, checkVerify, sentOf, wholeLog } from '../rig/check.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../rig/load.js';
import { open } from '../rig/opened.js';
import { call } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';

interface Dose {
  readonly batches: number;
  /** How long the good events of a batch may wait, ms. */
  readonly goodMs: number;
}

const BATCH = 1_000;
/** How long is waited for what must come at some time. ms */
const TIMEOUT_MS = 60_000;

const poison = (n: number): Sent => sentThreat(`poison-${n}`, {}, `poison-${n}`);

/** How often the projector without the guard has tried and failed. */
interface Tries {
  failed: number;
}

/** After so many failed tries at one batch the next ones will fail as well. */
const ENOUGH_TRIES = 20;

/** A projector that applies a batch or does not, and tries it again if it does not. */
const projectAllOrNothing = async (log: EventLog, pool: Pool, tries: Tries, signal: AbortSignal): Promise<void> => {
  const positions = new Map(PROJECTIONS.map(({ name }) => [name, BEGINNING]));
  while (!signal.aborted) {
    for (const projection of PROJECTIONS) {
      const position = positions.get(projection.name)!;
      const events = await log.readAll(position, BATCH);
      const last = events.at(-1);
      if (!last) continue;
      const [dealt] = await dispatchBatch([projection], [{ projection: projection.name, position }], {
        events,
        position: last.position,
      });
      await transact(pool, 'read', async (transaction) => {
        const { connection } = transaction;
        const write = await dealt!.prepared;
        if (dealt!.events.length > 0) await write(transaction);
        await connection.query(
          'insert into checkpoints values ($1, $2, $3, $4) on conflict (projection) do update set position = $3',
          [projection.name, await log.id(), String(last.position), Date.now()],
        );
      }).then(
        () => positions.set(projection.name, last.position),
        () => void (tries.failed += 1),
      );
    }
    await sleep(20);
  }
};

const poisonBatches = async (scene: Scene, { batches, goodMs }: Dose, hasParking = true): Promise<Outcome> => {
  const database = await scene.database();
  // What the parser takes and the database does not: a record that this version's table has no room for.
  await database.pool.query(`alter table read.records add constraint no_poison check (id not like 'poison-%')`);
  const projectors = hasParking ? 1 : 0;
  const { service, log, keys, env } = await open(scene, { DATABASE_URL: database.url }, { projectors });
  const stop = new AbortController();
  const tries: Tries = { failed: 0 };
  const naive = hasParking ? undefined : projectAllOrNothing(log, database.pool, tries, stop.signal);
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 1);
  await sender.deliver([brandsAndFlags()].values());
  const findings: string[] = [];
  const health = async () => (await ask(`${service.url}/health/ready`)).body;
  const waits: number[] = [];
  let n = 0;
  for (const batch of inBatches(upstream(scene.random, batches * (BATCH - 1)), BATCH - 1)) {
    batch.splice([0, BATCH >> 1, BATCH - 1][n % 3]!, 0, poison(n));
    n += 1;
    await sender.deliver([batch].values());
    const begin = Date.now();
    const head = Number(await log.head());
    const isCounted = async (): Promise<boolean> =>
      (await database.pool.query<{ least: number }>('select min(position) as least from read.checkpoints')).rows[0]!
        .least >= head;
    const isGivenUp = (): boolean => tries.failed >= ENOUGH_TRIES || Date.now() - begin > Math.max(goodMs, TIMEOUT_MS);
    while (!(await isCounted()) && !isGivenUp()) await sleep(5);
    waits.push((await isCounted()) ? Date.now() - begin : Infinity);
    scene.tell(`batch ${n} of ${batches}`);
    if (waits.at(-1) === Infinity) break;
  }
  const late = waits.filter((wait) => wait > goodMs).length;
  if (late > 0)
    findings.push(
      waits.includes(Infinity)
        ? `The good events of batch ${n} were never counted`
        : `The good events of ${late} of ${n} batches were counted after more than ${goodMs} ms: ${Math.max(...waits)} ms`,
    );
  if (hasParking) findings.push(...(await mend()));
  stop.abort();
  await naive;
  const stored = await wholeLog(log);
  findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
  return {
    dose: `${n * BATCH} events, one in ${BATCH} poisoned: first, middle or last of its batch`,
    seen: `good ones counted after at most ${Math.max(...waits)} ms, ${n} parked once, health degraded, retry applied them`,
    findings,
  };

  /** What an operator sees and does. */
  async function mend(): Promise<string[]> {
    const found: string[] = [];
    const parked = await call(scene, env, ['parked', 'list', '--json']);
    const listed = JSON.parse(parked.output) as { projection: string; eventId: string; reason: string }[];
    if (listed.length !== n || new Set(listed.map(({ eventId }) => eventId)).size !== n)
      found.push(`${listed.length} events are parked where ${n} were poisoned`);
    if (!listed.every(({ reason }) => reason.includes('no_poison'))) found.push(`A reason says ${listed[0]?.reason}`);
    if ((await health()).status !== 'degraded')
      found.push(`Health says ${(await health()).status} while events are parked`);
    const metrics = String((await ask(`${service.url}/metrics`)).body);
    if (!metrics.includes(`threat_protection_parked_events{projection="metrics"} ${n}`))
      found.push('Prometheus is not told of the parked events');
    found.push(
      ...(await checkMetrics(
        service.url,
        keys,
        sentOf(await wholeLog(log)).filter(({ id }) => !id.startsWith('poison')),
        scene.seed,
      )),
    );
    // Retried while the reason is there they stay; once it is gone they are applied.
    const [one] = listed;
    if ((await call(scene, env, ['parked', 'retry', one!.eventId])).code !== 1)
      found.push('A retry that failed did not say so');
    await database.pool.query('alter table read.records drop constraint no_poison');
    const retried = await call(scene, env, ['parked', 'retry']);
    if (retried.code !== 0) found.push(`parked retry ended with ${retried.code}: ${retried.output.slice(0, 300)}`);
    found.push(...(await checkMetrics(service.url, keys, sentOf(await wholeLog(log)), scene.seed + 1)));
    found.push(...(await mindTheUnreadable()));
    found.push(...(await checkVerify(scene, env)));
    if ((await health()).status !== 'ready')
      found.push(`Health says ${JSON.stringify(await health())} after all is mended`);
    return found;
  }

  /** What somebody appended to the log directly: one that cannot be read, one of a type nobody knows. */
  async function mindTheUnreadable(): Promise<string[]> {
    const found: string[] = [];
    const [unreadable, unknown] = [randomUUID(), randomUUID()];
    await log.append('threat-acme:broken', 'any', [
      { id: unreadable, type: 'ThreatStatusChanged', data: { organization: 'acme' }, metadata: {} },
      { id: unknown, type: 'SomethingNewer', data: {}, metadata: {} },
    ]);
    const parkedNow = async (): Promise<number> =>
      (await database.pool.query<{ n: number }>('select count(*) as n from read.parked_events')).rows[0]!.n;
    for (const until = Date.now() + TIMEOUT_MS; (await parkedNow()) === 0 && Date.now() < until;) await sleep(20);
    const status = await call(scene, env, ['projections', 'status', '--json']);
    const all = JSON.parse(status.output) as { projection: string; parked: number; unknown: number }[];
    const { parked, unknown: unknowns } = all.find(({ projection }) => projection === 'metrics')!;
    if (parked !== 1 || unknowns !== 1) found.push(`The status says ${status.output}`);
    const dropped = await call(scene, env, ['parked', 'drop', unreadable, '--reason', 'a test']);
    if (dropped.code !== 0) found.push(`parked drop ended with ${dropped.code}: ${dropped.output}`);
    for (const until = Date.now() + TIMEOUT_MS; (await parkedNow()) > 0 && Date.now() < until;) await sleep(20);
    if ((await parkedNow()) > 0) found.push('The dropped event is still parked');
    return found;
  }
};

export const poisonEvents: Scenario<Dose> = {
  name: 'F10',
  what: 'poison events at the first, a middle and the last place of a batch',
  full: { batches: 100, goodMs: 1_000 },
  everyChange: { batches: 3, goodMs: TIMEOUT_MS },
  run: (scene, dose) => poisonBatches(scene, dose),
  guard: 'parking by halves',
  without: (scene, dose) => poisonBatches(scene, dose, false),
};

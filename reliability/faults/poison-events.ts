import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PROJECTIONS } from '../../projections/registry.js';
import { Decisions } from '../../projections/engine/decisions.js';
import { dispatchBatch } from '../../projections/engine/dispatch-batch.js';
import { transact } from '../../projections/engine/projection.js';
import { BEGINNING, type EventLog } from '../../src/event-log/event-log.js';
import { type Sent, sentThreat } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { sendRequest } from '../rig/http-request.js';
import { checkLog, checkMetrics, checkVerify, sentOf, wholeLog } from '../rig/check.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import { call } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';

interface Scale {
  readonly batches: number;
  /** Events per batch. */
  readonly batch: number;
  /** The run without the guard gives up after this many failed attempts at one batch. */
  readonly enoughTries: number;
  /** The number of metrics that are compared with a recount. */
  readonly queries: number;
  /** How long the valid events of a batch may wait, in ms. */
  readonly maxRecoveryMs: number;
}

/** The timeout for conditions without a limit of their own. */
const TIMEOUT_MS = 60_000;

const poison = (n: number): Sent => sentThreat(`poison-${n}`, {}, `poison-${n}`);

/** The failed attempts of the projector without the guard. */
interface Tries {
  failed: number;
}

/** A naive projector that retries whole batches. */
const projectAllOrNothing = async (
  log: EventLog,
  pool: Pool,
  batchSize: number,
  tries: Tries,
  signal: AbortSignal,
): Promise<void> => {
  const positions = new Map(PROJECTIONS.map(({ name }) => [name, BEGINNING]));
  while (!signal.aborted) {
    for (const projection of PROJECTIONS) {
      const position = positions.get(projection.name)!;
      const events = await log.readAll(position, batchSize);
      const last = events.at(-1);
      if (!last) continue;
      const timeOf = ({ recordedAt }: { recordedAt: number }): number => recordedAt;
      const batch = { events, position: last.position, timeOf };
      const checkpoints = [{ projection: projection.name, position }];
      const none = async (): Promise<undefined> => undefined;
      const [dealt] = await dispatchBatch([projection], checkpoints, batch, new Decisions(), none);
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

const poisonBatches = async (
  context: RunContext,
  { batches, batch: batchSize, enoughTries, queries, maxRecoveryMs }: Scale,
  hasParking = true,
): Promise<Outcome> => {
  const database = await context.database();
  // A constraint makes the database reject records that the parser accepts.
  await database.pool.query(`alter table read.records add constraint no_poison check (id not like 'poison-%')`);
  const projectors = hasParking ? 1 : 0;
  const { service, log, keys, env } = await startService(context, { DATABASE_URL: database.url }, { projectors });
  const stop = new AbortController();
  const tries: Tries = { failed: 0 };
  const naive = hasParking ? undefined : projectAllOrNothing(log, database.pool, batchSize, tries, stop.signal);
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 1);
  await sender.deliver([brandsAndFlags()].values());
  const findings: string[] = [];
  const health = async () => (await sendRequest(`${service.url}/health/ready`)).body;
  const waits: number[] = [];
  let n = 0;
  for (const batch of inBatches(upstream(context.random, batches * (batchSize - 1)), batchSize - 1)) {
    batch.splice([0, batchSize >> 1, batchSize - 1][n % 3]!, 0, poison(n));
    n += 1;
    await sender.deliver([batch].values());
    const begin = Date.now();
    const head = Number(await log.head());
    const isCounted = async (): Promise<boolean> =>
      (await database.pool.query<{ least: number }>('select min(position) as least from read.checkpoints')).rows[0]!
        .least >= head;
    const isGivenUp = (): boolean =>
      tries.failed >= enoughTries || Date.now() - begin > Math.max(maxRecoveryMs, TIMEOUT_MS);
    while (!(await isCounted()) && !isGivenUp()) await sleep(5);
    waits.push((await isCounted()) ? Date.now() - begin : Infinity);
    context.reportProgress(`batch ${n} of ${batches}`);
    if (waits.at(-1) === Infinity) break;
  }
  const late = waits.filter((wait) => wait > maxRecoveryMs).length;
  if (late > 0)
    findings.push(
      waits.includes(Infinity)
        ? `The valid events of batch ${n} were never counted`
        : `The valid events of ${late} of ${n} batches were counted after more than ${maxRecoveryMs} ms: ${Math.max(...waits)} ms`,
    );
  if (hasParking) findings.push(...(await retryParked()));
  stop.abort();
  await naive;
  const stored = await wholeLog(log);
  findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
  return {
    workload: `${n * batchSize} events, one in ${batchSize} poisoned: first, middle or last of its batch`,
    observed: `valid events counted after at most ${Math.max(...waits)} ms, ${n} parked once, health degraded, retry applied them`,
    findings,
  };

  /** Checks what an operator sees, and retries the parked events. */
  async function retryParked(): Promise<string[]> {
    const problems: string[] = [];
    const parked = await call(context, env, ['parked', 'list', '--json']);
    const listed = JSON.parse(parked.printed) as { projection: string; eventId: string; reason: string }[];
    if (listed.length !== n || new Set(listed.map(({ eventId }) => eventId)).size !== n)
      problems.push(`${listed.length} events are parked, but ${n} were sent that cannot be applied`);
    if (!listed.every(({ reason }) => reason.includes('no_poison')))
      problems.push(`A parked event has the reason ${listed[0]?.reason}`);
    if ((await health()).status !== 'degraded')
      problems.push(`The health is ${(await health()).status} while events are parked`);
    const metrics = String((await sendRequest(`${service.url}/metrics`)).body);
    if (!metrics.includes(`threat_protection_parked_events{projection="metrics"} ${n}`))
      problems.push('The metrics do not contain the parked events');
    problems.push(
      ...(await checkMetrics(
        service.url,
        keys,
        sentOf(await wholeLog(log)).filter(({ id }) => !id.startsWith('poison')),
        context.seed,
        queries,
      )),
    );
    // A retry fails while the cause exists, and succeeds once it is gone.
    const [firstParked] = listed;
    if ((await call(context, env, ['parked', 'retry', firstParked!.eventId])).code !== 1)
      problems.push('A failed retry did not exit with 1');
    await database.pool.query('alter table read.records drop constraint no_poison');
    const retried = await call(context, env, ['parked', 'retry']);
    if (retried.code !== 0) problems.push(`parked retry ended with ${retried.code}: ${retried.output.slice(0, 300)}`);
    problems.push(...(await checkMetrics(service.url, keys, sentOf(await wholeLog(log)), context.seed + 1, queries)));
    problems.push(...(await checkUnreadableEvents()));
    problems.push(...(await checkVerify(context, env)));
    if ((await health()).status !== 'ready')
      problems.push(`The health is ${JSON.stringify(await health())} after all parked events were applied`);
    return problems;
  }

  /** Appends an unreadable event and an event of an unknown type directly to the log, and checks the status. */
  async function checkUnreadableEvents(): Promise<string[]> {
    const problems: string[] = [];
    const [unreadable, unknown] = [randomUUID(), randomUUID()];
    await log.append('threat-acme:broken', 'any', [
      { id: unreadable, type: 'ThreatStatusChanged', data: { organization: 'acme' }, metadata: {} },
      { id: unknown, type: 'SomethingNewer', data: {}, metadata: {} },
    ]);
    const parkedNow = async (): Promise<number> =>
      (await database.pool.query<{ n: number }>('select count(*) as n from read.parked_events')).rows[0]!.n;
    for (const until = Date.now() + TIMEOUT_MS; (await parkedNow()) === 0 && Date.now() < until;) await sleep(20);
    const status = await call(context, env, ['projections', 'status', '--json']);
    const all = JSON.parse(status.printed) as { projection: string; parked: number; unknown: number }[];
    const { parked, unknown: unknowns } = all.find(({ projection }) => projection === 'metrics')!;
    if (parked !== 1 || unknowns !== 1) problems.push(`projections status printed ${status.output}`);
    const dropped = await call(context, env, ['parked', 'drop', unreadable, '--reason', 'a test']);
    if (dropped.code !== 0) problems.push(`parked drop ended with ${dropped.code}: ${dropped.output}`);
    for (const until = Date.now() + TIMEOUT_MS; (await parkedNow()) > 0 && Date.now() < until;) await sleep(20);
    if ((await parkedNow()) > 0) problems.push('The dropped event is still parked');
    return problems;
  }
};

export const poisonEvents: Scenario<Scale> = {
  name: 'F10',
  what: 'batches whose first, middle or last event cannot be applied',
  full: { batches: 100, batch: 1_000, enoughTries: 20, queries: 40, maxRecoveryMs: 1_000 },
  everyChange: { batches: 3, batch: 150, enoughTries: 6, queries: 15, maxRecoveryMs: TIMEOUT_MS },
  run: (context, scale) => poisonBatches(context, scale),
  guard: 'bisecting a failing batch and parking the poison event',
  withoutGuard: (context, scale) => poisonBatches(context, scale, false),
  controlFinding: /^The valid events of batch 1 were never counted$/,
};

import { setTimeout as sleep } from 'node:timers/promises';
import { LANE, PROJECTIONS } from '../../projections/registry.js';
import { ORGANIZATIONS } from '../../test/support/histories.js';
import type { TestDatabase } from '../../test/support/postgres.js';
import { sentThreat, stored } from '../../test/support/upstream.js';
import type { Receiver } from '../../test/support/receiver.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkVerify } from '../rig/check.js';
import { startService } from '../rig/running-service.js';
import { inBatches, upstream } from '../rig/load.js';
import type { RunContext } from '../rig/run-context.js';
import { checkDelivered, createWebhook, webhookSettings } from '../rig/webhook.js';
import { Workers } from '../rig/workers.js';

const WAYS = ['killed', 'frozen'] as const;
type Way = (typeof WAYS)[number];

interface Scale {
  /** Rounds per lane and way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** How soon another process must have processed the next event, in ms. */
  readonly takeOverMs: number;
}

const WEBHOOKS = 'webhooks';
/** The lane of the projectors, and that of the delivery processes. */
const ALL = [LANE, WEBHOOKS];
const WATCHED = 'watched';
/** The interval is so short that a frozen process is often in a transaction. */
const APPENDS_EVERY_MS = 20;
const BATCH = 5;
/** How long a frozen process remains frozen after the takeover. */
const FROZEN_ON_MS = 1_000;
/** How often the negative control renews the leases of processes that do not work. */
const RENEWED_EVERY_MS = 500;

/** Returns whether a lane has processed an event. */
const workedOn = async (lane: string, event: { id: string; position: bigint }, means: Means): Promise<boolean> => {
  const { database, receiver } = means;
  if (lane === WEBHOOKS) return receiver.subjects.includes(event.id);
  const names = PROJECTIONS.map(({ name }) => name);
  const { rows } = await database.pool.query<{ position: number }>(
    'select min(position) as position from read.checkpoints where projection = any($1)',
    [names],
  );
  return BigInt(rows[0]!.position) >= event.position;
};

interface Means {
  readonly database: TestDatabase;
  readonly receiver: Receiver;
}

const takeHolders = async (context: RunContext, scale: Scale, isLeaseEndless = false): Promise<Outcome> => {
  const { rounds, ways, takeOverMs } = scale;
  const database = await context.database();
  const env = { DATABASE_URL: database.url, ...(await webhookSettings(await context.folder())) };
  // Only an API process can create a webhook.
  const organizations = [...ORGANIZATIONS, WATCHED];
  const { service, log, keys } = await startService(context, env, { organizations, projectors: 0 });
  const workers = new Workers(context, env);
  for (const program of ['projections/main', 'projections/main', 'src/deliver', 'src/deliver'] as const)
    await workers.start(program);
  const receiver = await createWebhook(context, service.url, keys.read[WATCHED]!);
  await service.stop();

  const stop = new AbortController();
  const expected: string[] = [];
  const watched = async (): Promise<{ id: string; position: bigint }> => {
    const [id, at] = [`t-${expected.length}`, new Date().toISOString()];
    expected.push(id);
    await log.appendAll([stored(sentThreat(id, { organization: WATCHED, createdAt: at, updatedAt: at }, id))]);
    return { id, position: await log.head() };
  };
  const appending = (async () => {
    for (const batch of inBatches(upstream(context.random), BATCH)) {
      if (stop.signal.aborted) return;
      await log.appendAll(batch.map(stored));
      await sleep(APPENDS_EVERY_MS);
    }
  })();

  const renewAll = (): void =>
    void database.pool
      .query(`update read.projector_leases set expires_at = expires_at + ${RENEWED_EVERY_MS}`)
      .catch(() => {});
  let renewals: NodeJS.Timeout | undefined;
  const findings: string[] = [];
  const slowest: Record<Way, number> = { killed: 0, frozen: 0 };
  const disruptions = Array.from({ length: rounds }).flatMap(() =>
    ways.flatMap((way) => ALL.map((lane) => [way, lane] as const)),
  );
  for (const [n, [way, lane]] of disruptions.entries()) {
    context.reportProgress(`${lane} ${way}, ${n + 1} of ${disruptions.length}, ${expected.length} delivered`);
    // The processes that wait are one or two.
    const standby = n % 2 === 1 && lane !== WEBHOOKS ? await workers.start('projections/main') : undefined;
    await workers.waitForHolder(LANE);
    findings.push(...(await workers.contradictions()));
    await watched();
    const holder = await workers.waitForHolder(lane);
    if (way === 'killed') await holder.kill();
    else holder.signal('SIGSTOP');
    const begin = Date.now();
    if (isLeaseEndless) renewals ??= setInterval(renewAll, RENEWED_EVERY_MS);
    const event = await watched();
    while (!(await workedOn(lane, event, { database, receiver })) && Date.now() - begin <= takeOverMs) await sleep(10);
    const tookMs = Date.now() - begin;
    slowest[way] = Math.max(slowest[way], tookMs);
    if (tookMs > takeOverMs) {
      findings.push(`${lane}: the first event after the worker was ${way} waited longer than ${takeOverMs} ms`);
      break;
    }
    if (way === 'frozen') {
      await sleep(FROZEN_ON_MS);
      holder.signal('SIGCONT');
    }
    // Restores the number of processes.
    else if (standby === undefined) await workers.start(holder.program as 'projections/main' | 'src/deliver');
    if (way === 'frozen') await standby?.stop();
    await workers.waitForHolder(lane);
  }
  clearInterval(renewals);
  stop.abort();
  await appending;
  if (findings.length === 0) {
    const last = await watched();
    for (const lane of ALL)
      for (const end = Date.now() + 60_000; !(await workedOn(lane, last, { database, receiver })); await sleep(20))
        if (Date.now() > end) throw new Error(`${lane} does not reach the end of the log`);
    const disturbed = disruptions.filter(([, lane]) => lane === WEBHOOKS).length;
    findings.push(...checkDelivered(receiver, expected, disturbed), ...(await checkVerify(context, env)));
  }
  const times = ways.map((way) => `${way} ${(slowest[way] / 1000).toFixed(1)} s`).join(', ');
  return {
    workload: `${rounds} × ${ALL.join(', ')}, each ${ways.join(' and ')}`,
    observed: `taken over after at most ${times}; recount without differences, ${expected.length} records delivered in order`,
    findings,
  };
};

export const takeOver: Scenario<Scale> = {
  name: 'lanes',
  what: 'the process that holds a lane is killed or frozen under load',
  full: { rounds: 5, ways: WAYS, takeOverMs: 5_000 },
  run: (context, scale) => takeHolders(context, scale),
  guard: 'the lease of a lane expires',
  controlScale: { rounds: 1, ways: ['killed'] },
  withoutGuard: (context, scale) => takeHolders(context, scale, true),
};

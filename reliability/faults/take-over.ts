import { setTimeout as sleep } from 'node:timers/promises';
import { LANES } from '../../projections/registry.js';
import { ORGANIZATIONS } from '../../test/projections/histories.js';
import type { TestDatabase } from '../../test/support/postgres.js';
import { sentThreat, stored } from '../../test/support/upstream.js';
import type { Receiver } from '../../test/webhooks/delivery/receiver.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkVerify } from '../rig/check.js';
import { open } from '../rig/opened.js';
import { inBatches, upstream } from '../rig/load.js';
import type { Scene } from '../rig/scene.js';
import { checkDelivered, createWebhook, webhookSettings } from '../rig/webhook.js';
import { Workers } from '../rig/workers.js';

const WAYS = ['killed', 'frozen'] as const;
type Way = (typeof WAYS)[number];

interface Dose {
  /** Of each lane and way. */
  readonly rounds: number;
  readonly ways: readonly Way[];
  /** How soon what came after it must be worked on by another one. ms */
  readonly takeOverMs: number;
}

const WEBHOOKS = 'webhooks';
/** Those of the projectors, and that of the delivery processes. */
const ALL = [...LANES.map(({ name }) => name), WEBHOOKS];
const WATCHED = 'watched';
/** Enough that who is frozen is often in the middle of a transaction. */
const APPENDS_EVERY_MS = 20;
const BATCH = 5;
/** How long a frozen one is silent after another has taken over. ms */
const FROZEN_ON_MS = 1_000;

/** Waits until a lane has worked on an event. */
const workedOn = async (lane: string, event: { id: string; position: bigint }, means: Means): Promise<boolean> => {
  const { database, receiver } = means;
  if (lane === WEBHOOKS) return receiver.subjects.includes(event.id);
  const names = LANES.find(({ name }) => name === lane)!.projections.map(({ name }) => name);
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

const takeHolders = async (scene: Scene, dose: Dose, isLeaseEndless = false): Promise<Outcome> => {
  const { rounds, ways, takeOverMs } = dose;
  const database = await scene.database();
  const env = { DATABASE_URL: database.url, ...(await webhookSettings(await scene.folder())) };
  // Only an API can make a webhook.
  const organizations = [...ORGANIZATIONS, WATCHED];
  const { service, log, keys } = await open(scene, env, { organizations, projectors: 0 });
  const workers = new Workers(scene, env);
  for (const program of ['projections/main', 'projections/main', 'src/deliver', 'src/deliver'] as const)
    await workers.start(program);
  const receiver = await createWebhook(scene, service.url, keys.read[WATCHED]!);
  await service.stop();

  const stop = new AbortController();
  const due: string[] = [];
  const watched = async (): Promise<{ id: string; position: bigint }> => {
    const [id, at] = [`t-${due.length}`, new Date().toISOString()];
    due.push(id);
    await log.appendAll([stored(sentThreat(id, { organization: WATCHED, createdAt: at, updatedAt: at }, id))]);
    return { id, position: await log.head() };
  };
  const appending = (async () => {
    for (const batch of inBatches(upstream(scene.random), BATCH)) {
      if (stop.signal.aborted) return;
      await log.appendAll(batch.map(stored));
      await sleep(APPENDS_EVERY_MS);
    }
  })();

  const findings: string[] = [];
  const slowest: Record<Way, number> = { killed: 0, frozen: 0 };
  const deeds = Array.from({ length: rounds }).flatMap(() =>
    ways.flatMap((way) => ALL.map((lane) => [way, lane] as const)),
  );
  for (const [n, [way, lane]] of deeds.entries()) {
    scene.tell(`${lane} ${way}, ${n + 1} of ${deeds.length}, ${due.length} delivered`);
    // In turn one that has another lane takes over, or one that stands by.
    const standby = n % 2 === 1 && lane !== WEBHOOKS ? await workers.start('projections/main') : undefined;
    await workers.spread(LANES.length);
    findings.push(...(await workers.contradictions()));
    await watched();
    const holder = await workers.holder(lane);
    if (way === 'killed') await holder.kill();
    else holder.signal('SIGSTOP');
    const begin = Date.now();
    if (isLeaseEndless) await database.pool.query('update read.projector_leases set expires_at = expires_at * 2');
    const event = await watched();
    while (!(await workedOn(lane, event, { database, receiver })) && Date.now() - begin <= takeOverMs) await sleep(10);
    const took = Date.now() - begin;
    slowest[way] = Math.max(slowest[way], took);
    if (took > takeOverMs) {
      findings.push(`${lane}: what came after its worker was ${way} waited longer than ${takeOverMs} ms`);
      break;
    }
    if (way === 'frozen') {
      await sleep(FROZEN_ON_MS);
      holder.signal('SIGCONT');
    }
    // As many as before.
    else if (standby === undefined) await workers.start(holder.program as 'projections/main' | 'src/deliver');
    if (way === 'frozen') await standby?.stop();
    await workers.holder(lane);
  }
  stop.abort();
  await appending;
  if (findings.length === 0) {
    const last = await watched();
    for (const lane of ALL)
      for (const end = Date.now() + 60_000; !(await workedOn(lane, last, { database, receiver })); await sleep(20))
        if (Date.now() > end) throw new Error(`${lane} does not reach the end of the log`);
    const disturbed = deeds.filter(([, lane]) => lane === WEBHOOKS).length;
    findings.push(...checkDelivered(receiver, due, disturbed), ...(await checkVerify(scene, env)));
  }
  const times = ways.map((way) => `${way} ${(slowest[way] / 1000).toFixed(1)} s`).join(', ');
  return {
    dose: `${rounds} × ${ALL.join(', ')}, each ${ways.join(' and ')}`,
    seen: `worked on by another process after at most: ${times}; recount 0, ${due.length} delivered in order`,
    findings,
  };
};

export const takenOver: Scenario<Dose> = {
  name: 'lanes',
  what: 'the process that works in a lane is killed or frozen, under load',
  full: { rounds: 5, ways: WAYS, takeOverMs: 5_000 },
  run: (scene, dose) => takeHolders(scene, dose),
  guard: 'a lease that expires',
  counterTest: { rounds: 1, ways: ['killed'] },
  without: (scene, dose) => takeHolders(scene, dose, true),
};

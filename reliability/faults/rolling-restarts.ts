import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ORGANIZATIONS } from '../../test/projections/histories.js';
import { eventually } from '../../test/support/eventually.js';
import { Random } from '../../test/support/random.js';
import { sentThreat } from '../../test/support/upstream.js';
import { makeNextVersion } from '../upgrade/next-version.js';
import type { Outcome, Scenario } from '../scenario.js';
import { percentile } from '../rig/ask.js';
import { Balancer } from '../rig/balancer.js';
import { Caller, Calls } from '../rig/caller.js';
import { checkAll } from '../rig/check.js';
import { Deployment } from '../rig/deployment.js';
import { issueKeys, keysKnown } from '../rig/keys.js';
import { brandsAndFlags, inBatches, upstream } from '../rig/load.js';
import { openLog } from '../rig/opened.js';
import type { Probed } from '../rig/probe.js';
import { call, preloadOf } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';
import { checkDelivered, createWebhook, webhookSettings } from '../rig/webhook.js';

interface Dose {
  /** How often all processes are replaced, by the next version and by this one in turn. */
  readonly rounds: number;
  /** How many requests may be answered 503 with `Retry-After`: on a busy machine the database is slow to be reached. */
  readonly mostPutOff: number;
  /** Of the API and of the projector. */
  readonly replicas: number;
  readonly connections: number;
}

const COME_EVERY_MS = 50;
const BATCH = 2;
/** Whose webhook is watched: nobody else sends anything of it. */
const WATCHED = 'watched';
const WATCHED_EVERY_MS = 100;
const DELIVERED_WITHIN_MS = 30_000;

/** Threats of one organization, one after the other, so that what its webhook must get is known, in order. */
const tellInOrder = async (caller: Caller, signal: AbortSignal): Promise<string[]> => {
  const due: string[] = [];
  for (let n = 0; !signal.aborted; n += 1) {
    const at = new Date().toISOString();
    const data = { organization: WATCHED, status: 'BLOCKED', createdAt: at, updatedAt: at };
    if (await caller.write([sentThreat(`t-${n}`, data, `t-${n}`)])) due.push(`t-${n}`);
    await sleep(WATCHED_EVERY_MS);
  }
  return due;
};

const roll = async (
  scene: Scene,
  { rounds, mostPutOff, replicas, connections }: Dose,
  preload?: string,
): Promise<Outcome> => {
  const [database, folder] = [await scene.database(), await scene.folder()];
  const versions = [join(process.cwd(), 'dist'), await makeNextVersion(folder)] as const;
  const env = { DATABASE_URL: database.url, MIGRATE_ON_START: 'false', ...(await webhookSettings(folder)) };
  const log = await openLog(scene, { DATABASE_URL: database.url });
  const keys = await issueKeys(log, [...ORGANIZATIONS, WATCHED]);
  const balancer = await Balancer.start(scene);
  const { url } = balancer;
  const workers = { env: { ...env, OPS_PORT: '0' } };
  const apis = new Deployment(scene, { program: 'src/main', replicas, env, preload }, balancer);
  const deployments = [
    apis,
    new Deployment(scene, { program: 'projections/main', replicas, ...workers }),
    new Deployment(scene, { program: 'src/deliver', replicas: 1, ...workers }),
  ];
  const rollAll = async (installed: string): Promise<void> => {
    await Promise.all(deployments.map((deployment) => deployment.roll(installed)));
  };
  await rollAll(versions[0]);
  for (const { url: own } of apis.processes) await keysKnown(own!, keys);
  const receiver = await createWebhook(scene, url, keys.read[WATCHED]!);

  const calls = new Calls();
  scene.keep('calls.json', () => JSON.stringify(calls.all));
  const callerOf = (n = 0): Caller => new Caller(url, keys, ORGANIZATIONS[n % ORGANIZATIONS.length]!, calls);
  await callerOf().write(brandsAndFlags());
  const stop = new AbortController();
  const batches = inBatches(upstream(scene.random), BATCH);
  const calling = Array.from({ length: connections - 1 }, async (_, n) => {
    // Not all in one instant, which is no restart.
    await sleep(n * COME_EVERY_MS);
    await callerOf(n).run(batches, new Random(scene.seed + n), stop.signal);
  });
  const told = tellInOrder(callerOf(), stop.signal);
  const findings: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // And before the first, when all have come.
    await sleep(connections * COME_EVERY_MS);
    const installed = versions[round % 2]!;
    scene.tell(`round ${round} of ${rounds}, ${calls.all.length} requests`);
    // As a cluster is told both at once: the new processes wait for the tables of their version.
    const migrated = installed === versions[1] ? call(scene, env, ['migrate'], installed) : undefined;
    const [{ code = 0, output = '' } = {}] = await Promise.all([migrated, rollAll(installed)]);
    if (code !== 0) findings.push(`migrate ended with ${code}: ${output}`);
  }
  stop.abort();
  const [due] = await Promise.all([told, ...calling]);

  const notWell = calls.all.filter(({ status }) => status < 200 || status >= 300);
  const isPutOff = ({ status, answer }: Probed): boolean =>
    status === 503 && answer?.headers['retry-after'] !== undefined;
  const putOff = notWell.filter(isPutOff).length;
  if (putOff > mostPutOff) findings.push(`${putOff} requests were answered 503, at most ${mostPutOff} may be`);
  const odd = notWell.filter((one) => !isPutOff(one));
  const resets = odd.filter(({ status }) => status === 0).length;
  const [first] = odd;
  if (first !== undefined)
    findings.push(
      `${resets} requests got no answer and ${odd.length - resets} an error, ` +
        `${first.what} for instance: ${first.error ?? `${first.status} ${JSON.stringify(first.answer?.body)}`}`,
    );
  findings.push(...(await checkAll(scene, { service: { url }, log, keys, env }, calls.acknowledged)));
  // What is wrong is found below.
  await eventually('all is delivered', () => receiver.subjects.length >= due.length, DELIVERED_WITHIN_MS).catch(
    () => {},
  );
  findings.push(...checkDelivered(receiver, due));
  for (const deployment of deployments) findings.push(...deployment.findings);
  const stops = deployments.flatMap((deployment) => deployment.stops);
  const times = calls.all.map(({ ms }) => ms);
  return {
    dose:
      `${rounds} rolling restarts of ${replicas} API processes, ${replicas} projectors and a delivery process, ` +
      `${stops.length} stops, ${connections} connections, ${calls.all.length} requests`,
    seen:
      `${resets} resets, ${odd.length - resets} errors, ${putOff} × 503 with Retry-After, 0 of ${calls.acknowledged.length} events lost, recount 0, ` +
      `${due.length} delivered in order, each once; ${balancer.connections} connections in all, ` +
      `p99 ${Math.round(percentile(times, 0.99))} ms, slowest ${Math.round(Math.max(...times))} ms, ` +
      `slowest stop ${Math.max(...stops)} ms`,
    findings,
  };
};

export const rollingRestarts: Scenario<Dose> = {
  name: 'F28',
  what: 'this version and the next one side by side, all processes replaced in turn under load, there and back',
  full: { rounds: 20, mostPutOff: 0, replicas: 2, connections: 50 },
  run: (scene, dose) => roll(scene, dose),
  guard: 'the graceful shutdown',
  counterTest: { rounds: 1 },
  without: (scene, dose) => roll(scene, dose, preloadOf('no-orderly-stop')),
};

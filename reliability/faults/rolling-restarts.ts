import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ORGANIZATIONS } from '../../test/support/histories.js';
import { eventually } from '../../test/support/eventually.js';
import { Random } from '../../test/support/random.js';
import { sentThreat } from '../../test/support/upstream.js';
import { makeNextVersion } from '../upgrade/next-version.js';
import type { Outcome, Scenario } from '../scenario.js';
import { percentile } from '../rig/http-request.js';
import { Balancer } from '../rig/balancer.js';
import { Caller, Calls } from '../rig/caller.js';
import { checkAll } from '../rig/check.js';
import { Deployment } from '../rig/deployment.js';
import { issueKeys, waitUntilKeysKnown } from '../rig/keys.js';
import { brandsAndFlags, inBatches, upstream } from '../rig/load.js';
import { openLog } from '../rig/running-service.js';
import type { ProbeResult } from '../rig/probe.js';
import { call, preloadOf } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { checkDelivered, createWebhook, webhookSettings } from '../rig/webhook.js';

interface Scale {
  /** How often all processes are replaced, alternately by the next version and by this version. */
  readonly rounds: number;
  /** How many requests may get a 503 with `Retry-After`, because a busy machine connects slowly to the database. */
  readonly mostPutOff: number;
  /** API processes, and also projectors. */
  readonly replicas: number;
  readonly connections: number;
}

const COME_EVERY_MS = 50;
const BATCH = 2;
/** The organization whose webhook is checked. Only `sendInOrder` sends its events. */
const WATCHED = 'watched';
const WATCHED_EVERY_MS = 100;
const DELIVERED_WITHIN_MS = 30_000;

/** Sends threats of one organization one after the other. @returns the expected deliveries of its webhook, in order */
const sendInOrder = async (caller: Caller, signal: AbortSignal): Promise<string[]> => {
  const expected: string[] = [];
  for (let n = 0; !signal.aborted; n += 1) {
    const at = new Date().toISOString();
    const data = { organization: WATCHED, status: 'BLOCKED', createdAt: at, updatedAt: at };
    if (await caller.write([sentThreat(`t-${n}`, data, `t-${n}`)])) expected.push(`t-${n}`);
    await sleep(WATCHED_EVERY_MS);
  }
  return expected;
};

const roll = async (
  context: RunContext,
  { rounds, mostPutOff, replicas, connections }: Scale,
  preload?: string,
): Promise<Outcome> => {
  const [database, folder] = [await context.database(), await context.folder()];
  const versions = [join(process.cwd(), 'dist'), await makeNextVersion(folder)] as const;
  const env = { DATABASE_URL: database.url, MIGRATE_ON_START: 'false', ...(await webhookSettings(folder)) };
  const log = await openLog(context, { DATABASE_URL: database.url });
  const keys = await issueKeys(log, [...ORGANIZATIONS, WATCHED]);
  const balancer = await Balancer.start(context);
  const { url } = balancer;
  const workers = { env: { ...env, OPS_PORT: '0' } };
  const apis = new Deployment(context, { program: 'src/main', replicas, env, preload }, balancer);
  const deployments = [
    apis,
    new Deployment(context, { program: 'projections/main', replicas, ...workers }),
    new Deployment(context, { program: 'src/deliver', replicas: 1, ...workers }),
  ];
  const rollAll = async (installed: string): Promise<void> => {
    await Promise.all(deployments.map((deployment) => deployment.roll(installed)));
  };
  await rollAll(versions[0]);
  for (const { url: apiUrl } of apis.processes) await waitUntilKeysKnown(apiUrl!, keys);
  const receiver = await createWebhook(context, url, keys.read[WATCHED]!);

  const calls = new Calls();
  context.keepFile('calls.json', () => JSON.stringify(calls.all));
  const callerOf = (n = 0): Caller => new Caller(url, keys, ORGANIZATIONS[n % ORGANIZATIONS.length]!, calls);
  await callerOf().write(brandsAndFlags());
  const stop = new AbortController();
  const batches = inBatches(upstream(context.random), BATCH);
  const calling = Array.from({ length: connections - 1 }, async (_, n) => {
    // The clients connect one after the other.
    await sleep(n * COME_EVERY_MS);
    await callerOf(n).run(batches, new Random(context.seed + n), stop.signal);
  });
  const sending = sendInOrder(callerOf(), stop.signal);
  const findings: string[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // Before the first round, this waits until all clients have connected.
    await sleep(connections * COME_EVERY_MS);
    const installed = versions[round % 2]!;
    context.reportProgress(`round ${round} of ${rounds}, ${calls.all.length} requests`);
    // As in a cluster, the migration and the new processes start together: the processes wait for their tables.
    const migrated = installed === versions[1] ? call(context, env, ['migrate'], installed) : undefined;
    const [{ code = 0, output = '' } = {}] = await Promise.all([migrated, rollAll(installed)]);
    if (code !== 0) findings.push(`migrate ended with ${code}: ${output}`);
  }
  stop.abort();
  const [expected] = await Promise.all([sending, ...calling]);

  const notWell = calls.all.filter(({ status }) => status < 200 || status >= 300);
  const isPutOff = ({ status, response }: ProbeResult): boolean =>
    status === 503 && response?.headers['retry-after'] !== undefined;
  const putOff = notWell.filter(isPutOff).length;
  if (putOff > mostPutOff) findings.push(`${putOff} requests got a 503; at most ${mostPutOff} are allowed`);
  const failures = notWell.filter((one) => !isPutOff(one));
  const resets = failures.filter(({ status }) => status === 0).length;
  const [first] = failures;
  if (first !== undefined)
    findings.push(
      `${resets} requests got no response and ${failures.length - resets} an error, ` +
        `${first.what} for instance: ${first.error ?? `${first.status} ${JSON.stringify(first.response?.body)}`}`,
    );
  findings.push(...(await checkAll(context, { service: { url }, log, keys, env }, calls.acknowledged)));
  // Missing deliveries are reported below.
  await eventually('all is delivered', () => receiver.subjects.length >= expected.length, DELIVERED_WITHIN_MS).catch(
    () => {},
  );
  findings.push(...checkDelivered(receiver, expected));
  for (const deployment of deployments) findings.push(...deployment.findings);
  const stops = deployments.flatMap((deployment) => deployment.stops);
  const times = calls.all.map(({ ms }) => ms);
  return {
    workload:
      `${rounds} rolling restarts of ${replicas} API processes, ${replicas} projectors and a delivery process, ` +
      `${stops.length} stops, ${connections} connections, ${calls.all.length} requests`,
    observed:
      `${resets} resets, ${failures.length - resets} errors, ${putOff} × 503 with Retry-After, 0 of ${calls.acknowledged.length} events lost, recount without differences, ` +
      `${expected.length} records delivered once each and in order; ${balancer.connections} connections in all, ` +
      `p99 ${Math.round(percentile(times, 0.99))} ms, slowest ${Math.round(Math.max(...times))} ms, ` +
      `slowest stop ${Math.max(...stops)} ms`,
    findings,
  };
};

export const rollingRestarts: Scenario<Scale> = {
  name: 'F28',
  what: 'all processes are replaced one after the other under load, by the next version and back',
  full: { rounds: 20, mostPutOff: 0, replicas: 2, connections: 50 },
  run: (context, scale) => roll(context, scale),
  guard: 'the graceful shutdown',
  controlScale: { rounds: 1 },
  withoutGuard: (context, scale) => roll(context, scale, preloadOf('no-graceful-shutdown')),
};

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll, checkLog, wholeLog } from '../rig/check.js';
import { startFakeEndpoint } from '../rig/fake-endpoint.js';
import { issueKeys, waitUntilKeysKnown } from '../rig/keys.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { openLog } from '../rig/running-service.js';
import { embeddedServer, PostgresServer, removeEmbedded } from '../rig/postgres-server.js';
import type { Environment } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { Service } from '../rig/service.js';

interface Scale {
  readonly rounds: number;
  /** The minimum number of acknowledged events. */
  readonly events: number;
  /** How long a start may take in ms; default: unlimited. */
  readonly readyMs?: number;
  /** Events per request. */
  readonly batch: number;
}

interface Setup {
  readonly env: Environment;
  /** The URL of the service's database. */
  readonly databaseUrl: () => Promise<string>;
  /** Kills something else together with the service. */
  readonly alsoKill?: (() => Promise<void>) | undefined;
  /** An additional check after each start. */
  readonly checkAfterStart?: (() => Promise<readonly string[]>) | undefined;
}

/** Kills the service repeatedly while events arrive, and then checks the log and the read models. */
const repeatKills = async (
  context: RunContext,
  { rounds, events, readyMs = Infinity, batch }: Scale,
  { env, databaseUrl, alsoKill, checkAfterStart }: Setup,
  isFakeEndpoint = false,
): Promise<Outcome> => {
  const { random } = context;
  const findings: string[] = [];
  const starts: number[] = [];
  const measureStart = async (work: () => Promise<Service>): Promise<Service> => {
    const begin = Date.now();
    const started = await work();
    const tookMs = Date.now() - begin;
    starts.push(tookMs);
    if (tookMs > readyMs) findings.push(`Start ${starts.length} took ${tookMs} ms`);
    findings.push(...((await checkAfterStart?.()) ?? []));
    return started;
  };
  const start = (): Promise<Service> => measureStart(() => Service.start(context, { env, supervised: true }));
  let service = await start();
  const log = await openLog(context, { DATABASE_URL: await databaseUrl() });
  const keys = await issueKeys(log);
  await waitUntilKeysKnown(service.url, keys);
  const endpoint = isFakeEndpoint ? await startFakeEndpoint(context, () => service.url) : undefined;
  const history = new History(context);
  const sender = new Sender(() => endpoint ?? service.url, keys.ingest, history);
  const stop = sender.keepDelivering(inBatches(fullLoad(random, events + rounds * 20_000), batch));
  for (let round = 1; round <= rounds; round += 1) {
    await sleep(200 + random.int(800));
    const part = alsoKill || round === 1 ? 'all' : random.pick(['all', 'supervisor', 'children'] as const);
    context.reportProgress(`round ${round} of ${rounds}, ${history.acknowledged.length} acknowledged`);
    if (part === 'children') {
      service.killChildren();
      // The old processes must be gone before the readiness check.
      await sleep(50);
      service = await measureStart(async () => {
        await service.ready();
        return service;
      });
      continue;
    }
    await Promise.all([part === 'all' ? service.kill() : service.killSupervisor(), alsoKill?.()]);
    // The fake endpoint responds without the service, and the log is read without the service.
    if (isFakeEndpoint && alsoKill === undefined && round === rounds) break;
    service = await start();
  }
  while (history.acknowledged.length < events) {
    context.reportProgress(`${history.acknowledged.length} of ${events} acknowledged`);
    await sleep(100);
  }
  await stop();
  findings.push(...history.wrong);
  if (isFakeEndpoint) findings.push(...checkLog(await wholeLog(log), history.acknowledged));
  else {
    findings.push(...(await checkAll(context, { service, log, keys, env }, history.acknowledged)));
    await service.stop();
  }
  const broken = history.attempts.filter(({ status }) => status === 0).length;
  return {
    workload: `${rounds} rounds, ${history.acknowledged.length} acknowledged`,
    observed: `${broken} requests interrupted and retried, slowest start ${Math.max(...starts)} ms`,
    findings,
  };
};

/** A service with a separate database that is not killed. */
const onDatabase = async (context: RunContext): Promise<Setup> => {
  const { url } = await context.database();
  return { env: { DATABASE_URL: url }, databaseUrl: async () => url };
};

/** A service with the embedded PostgreSQL. */
const onEmbedded = async (context: RunContext, { killsServer }: { killsServer: boolean }): Promise<Setup> => {
  const dataDir = await context.folder();
  context.onEnd(() => removeEmbedded(dataDir));
  const killServer = async (): Promise<void> => {
    const server = await embeddedServer(dataDir);
    if (server) process.kill(server.pid, 'SIGKILL');
  };
  return {
    env: { DATA_DIR: dataDir },
    databaseUrl: async () => (await embeddedServer(dataDir))!.url,
    alsoKill: killsServer ? killServer : undefined,
    checkAfterStart: killsServer ? undefined : await createReuseCheck(dataDir),
  };
};

const READY_MS = 5_000;

export const killedService: Scenario<Scale> = {
  name: 'F1',
  what: 'kill -9 of the service while events arrive',
  full: { rounds: 50, events: 200_000, readyMs: READY_MS, batch: 200 },
  everyChange: { rounds: 1, events: 500, batch: 20 },
  run: async (context, scale) => repeatKills(context, scale, await onDatabase(context)),
  guard: 'the endpoint responds after the append',
  controlScale: { rounds: 1, events: 500 },
  withoutGuard: async (context, scale) => repeatKills(context, scale, await onDatabase(context), true),
  controlFinding: /acknowledged events are not in the log$/,
};

export const killedServiceAndDatabase: Scenario<Scale> = {
  name: 'F2',
  what: 'kill -9 of the service and its embedded database',
  full: { rounds: 25, events: 50_000, readyMs: READY_MS, batch: 200 },
  run: async (context, scale) => repeatKills(context, scale, await onEmbedded(context, { killsServer: true })),
  guard: 'the endpoint responds after the append',
  controlScale: { rounds: 1, events: 200, batch: 20 },
  withoutGuard: async (context, scale) =>
    repeatKills(context, scale, await onEmbedded(context, { killsServer: true }), true),
};

/** Returns how many postmasters run on a cluster. */
const serversOn = (cluster: string): number =>
  process.platform !== 'linux'
    ? 1
    : readdirSync('/proc').filter((pid) => {
        try {
          return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(`-D\0${cluster}\0`);
        } catch {
          return false;
        }
      }).length;

/** Returns a function that checks whether the service still uses the first server. */
const createReuseCheck = async (dataDir: string): Promise<() => Promise<readonly string[]>> => {
  const { cluster } = await findClusterLayout(dataDir);
  let first: number | undefined;
  return async () => {
    const server = await embeddedServer(dataDir);
    first ??= server?.pid;
    if (server?.pid !== first)
      return [`The running server with pid ${first} was not reused: the server has the pid ${server?.pid}`];
    const servers = serversOn(cluster);
    return servers === 1 ? [] : [`${servers} servers run on ${cluster}`];
  };
};

export const killedServiceWithRunningDatabase: Scenario<Scale> = {
  name: 'F3',
  what: 'kill -9 of the service while its embedded database keeps running',
  full: { rounds: 15, events: 30_000, readyMs: READY_MS, batch: 200 },
  run: async (context, scale) => repeatKills(context, scale, await onEmbedded(context, { killsServer: false })),
  guard: 'a server that is still running is reused',
  withoutGuard: async (context) => {
    const dataDir = await context.folder();
    const postgres = await PostgresServer.create(context, dataDir);
    const checkReuse = await createReuseCheck(dataDir);
    const findings: string[] = [];
    for (let start = 1; start <= 2; start += 1) {
      await postgres.start();
      findings.push(...(await checkReuse()));
      await postgres.kill();
    }
    return { workload: '1 round', observed: '-', findings };
  },
};

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll, checkLog, wholeLog } from '../rig/check.js';
import { startFakeEndpoint } from '../rig/fake-endpoint.js';
import { issueKeys, keysKnown } from '../rig/keys.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { openLog } from '../rig/opened.js';
import { embeddedServer, OwnPostgres, removeEmbedded } from '../rig/own-postgres.js';
import type { Environment } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';
import { Service } from '../rig/service.js';

interface Dose {
  readonly rounds: number;
  /** Acknowledged at the least, at the end. */
  readonly events: number;
  /** How long a start may take, ms; unlimited unless given. */
  readonly readyMs?: number;
  /** Events a request. */
  readonly batch: number;
}

interface Ground {
  readonly env: Environment;
  /** Of the running service's database. */
  readonly databaseUrl: () => Promise<string>;
  /** What dies with the service. */
  readonly alsoKill?: (() => Promise<void>) | undefined;
  /** What else must be so after each start. */
  readonly look?: (() => Promise<readonly string[]>) | undefined;
}

/** Kills the service again and again while events come in, and then counts what is left. */
const killAgainAndAgain = async (
  scene: Scene,
  { rounds, events, readyMs = Infinity, batch }: Dose,
  { env, databaseUrl, alsoKill, look }: Ground,
  isFakeEndpoint = false,
): Promise<Outcome> => {
  const { random } = scene;
  const findings: string[] = [];
  const starts: number[] = [];
  const begun = async (work: () => Promise<Service>): Promise<Service> => {
    const begin = Date.now();
    const started = await work();
    const tookMs = Date.now() - begin;
    starts.push(tookMs);
    if (tookMs > readyMs) findings.push(`Start ${starts.length} took ${tookMs} ms`);
    findings.push(...((await look?.()) ?? []));
    return started;
  };
  const start = (): Promise<Service> => begun(() => Service.start(scene, { env, supervised: true }));
  let service = await start();
  const log = await openLog(scene, { DATABASE_URL: await databaseUrl() });
  const keys = await issueKeys(log);
  await keysKnown(service.url, keys);
  const endpoint = isFakeEndpoint ? await startFakeEndpoint(scene, () => service.url) : undefined;
  const history = new History(scene);
  const sender = new Sender(() => endpoint ?? service.url, keys.ingest, history);
  const stop = sender.keepDelivering(inBatches(fullLoad(random, events + rounds * 20_000), batch));
  for (let round = 1; round <= rounds; round += 1) {
    await sleep(200 + random.int(800));
    const part = alsoKill || round === 1 ? 'all' : random.pick(['all', 'supervisor', 'children'] as const);
    scene.tell(`round ${round} of ${rounds}, ${history.acknowledged.length} acknowledged`);
    if (part === 'children') {
      service.killChildren();
      // Ready once more is only what answers after the old one is gone.
      await sleep(50);
      service = await begun(async () => {
        await service.ready();
        return service;
      });
      continue;
    }
    await Promise.all([part === 'all' ? service.kill() : service.killSupervisor(), alsoKill?.()]);
    service = await start();
  }
  while (history.acknowledged.length < events) {
    scene.tell(`${history.acknowledged.length} of ${events} acknowledged`);
    await sleep(100);
  }
  await stop();
  findings.push(...history.wrong);
  if (isFakeEndpoint) findings.push(...checkLog(await wholeLog(log), history.acknowledged));
  else {
    findings.push(...(await checkAll(scene, { service, log, keys, env }, history.acknowledged)));
    await service.stop();
  }
  const broken = history.attempts.filter(({ status }) => status === 0).length;
  return {
    dose: `${rounds} rounds, ${history.acknowledged.length} acknowledged`,
    seen: `${broken} requests cut off and sent again, slowest start ${Math.max(...starts)} ms`,
    findings,
  };
};

/** The service over a database of its own that lives on. */
const onDatabase = async (scene: Scene): Promise<Ground> => {
  const { url } = await scene.database({ migrated: false });
  return { env: { DATABASE_URL: url }, databaseUrl: async () => url };
};

/** The service over the embedded server. */
const onEmbedded = async (scene: Scene, { killsServer }: { killsServer: boolean }): Promise<Ground> => {
  const dataDir = await scene.folder();
  scene.later(() => removeEmbedded(dataDir));
  const killServer = async (): Promise<void> => {
    const server = await embeddedServer(dataDir);
    if (server) process.kill(server.pid, 'SIGKILL');
  };
  return {
    env: { DATA_DIR: dataDir },
    databaseUrl: async () => (await embeddedServer(dataDir))!.url,
    alsoKill: killsServer ? killServer : undefined,
    look: killsServer ? undefined : await adoption(dataDir),
  };
};

const READY_MS = 5_000;

export const killedService: Scenario<Dose> = {
  name: 'F1',
  what: 'kill -9 of the service while events arrive',
  full: { rounds: 50, events: 200_000, readyMs: READY_MS, batch: 200 },
  everyChange: { rounds: 1, events: 500, batch: 20 },
  run: async (scene, dose) => killAgainAndAgain(scene, dose, await onDatabase(scene)),
  guard: 'the endpoint answers after the append',
  counterTest: { rounds: 1, events: 500 },
  without: async (scene, dose) => killAgainAndAgain(scene, dose, await onDatabase(scene), true),
};

export const killedServiceAndDatabase: Scenario<Dose> = {
  name: 'F2',
  what: 'kill -9 of the service and its embedded database',
  full: { rounds: 25, events: 50_000, readyMs: READY_MS, batch: 200 },
  run: async (scene, dose) => killAgainAndAgain(scene, dose, await onEmbedded(scene, { killsServer: true })),
  guard: 'the endpoint answers after the append',
  counterTest: { rounds: 1, events: 200, batch: 20 },
  without: async (scene, dose) => killAgainAndAgain(scene, dose, await onEmbedded(scene, { killsServer: true }), true),
};

/** How many servers run on a cluster. Their children call themselves otherwise. */
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

/** @returns what there is to say against the server that runs now */
const adoption = async (dataDir: string): Promise<() => Promise<readonly string[]>> => {
  const { cluster } = await findClusterLayout(dataDir);
  let first: number | undefined;
  return async () => {
    const server = await embeddedServer(dataDir);
    first ??= server?.pid;
    if (server?.pid !== first) return [`The server that ran as ${first} was not adopted: now it is ${server?.pid}`];
    const servers = serversOn(cluster);
    return servers === 1 ? [] : [`${servers} servers run on ${cluster}`];
  };
};

export const leftDatabase: Scenario<Dose> = {
  name: 'F3',
  what: 'kill -9 of the service, its embedded database left running',
  full: { rounds: 15, events: 30_000, readyMs: READY_MS, batch: 200 },
  run: async (scene, dose) => killAgainAndAgain(scene, dose, await onEmbedded(scene, { killsServer: false })),
  guard: 'the server that still runs is adopted',
  without: async (scene) => {
    const dataDir = await scene.folder();
    const postgres = await OwnPostgres.create(scene, dataDir);
    const look = await adoption(dataDir);
    const findings: string[] = [];
    for (let start = 1; start <= 2; start += 1) {
      await postgres.start();
      findings.push(...(await look()));
      await postgres.kill();
    }
    return { dose: '1 round', seen: '-', findings };
  },
};

import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { findClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { createDatabase } from '../support/postgres.js';
import type { Fault, Outcome } from './fault.js';
import { checkCounts, checkLog, wholeLog } from './rig/check.js';
import { startFakeEndpoint } from './rig/fake-endpoint.js';
import { issueKeys, keysKnown, openLog } from './rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from './rig/load.js';
import { embeddedServer, OwnPostgres, removeEmbedded } from './rig/own-postgres.js';
import type { Environment } from './rig/processes.js';
import type { Scene } from './rig/scene.js';
import { Service } from './rig/service.js';

interface Dose {
  readonly rounds: number;
  /** Acknowledged at the least, at the end. */
  readonly events: number;
  /** How long a start may take, ms. */
  readonly readyMs: number;
  /** Events a request. */
  readonly batch: number;
}

interface Ground {
  readonly env: Environment;
  /** The log of the running service's database. */
  readonly log: () => Promise<EventLog>;
  /** What dies with the service. */
  readonly alsoKill?: () => Promise<void>;
  /** What else must be so after each start. */
  readonly look?: () => Promise<readonly string[]>;
}

/** Kills the service again and again while events come in, and then counts what is left. */
const killAgainAndAgain = async (
  scene: Scene,
  { rounds, events, readyMs, batch }: Dose,
  { env, log: openIt, alsoKill, look }: Ground,
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
  const start = (): Promise<Service> =>
    begun(async () => (await Service.start(scene, { env, supervised: true })).service);
  let service = await start();
  const log = await openIt();
  const keys = await issueKeys(log);
  await keysKnown(service.url, keys);
  const endpoint = isFakeEndpoint ? await startFakeEndpoint(scene, () => service.url) : undefined;
  const history = new History(scene);
  const sender = new Sender(() => endpoint ?? service.url, keys.ingest, history);
  const stop = new AbortController();
  const delivering = sender.deliver(
    inBatches([...brandsAndFlags(), ...upstream(random, events + rounds * 20_000)], batch),
    stop.signal,
  );
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
  stop.abort();
  await delivering;
  sender.close();
  const stored = await wholeLog(log);
  findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
  if (!isFakeEndpoint) {
    findings.push(...(await checkCounts(scene, service, { keys, env, stored })));
    await service.stop();
  }
  const broken = history.attempts.filter(({ status }) => status === 0).length;
  return {
    dose: `${rounds} rounds, ${history.acknowledged.length} acknowledged`,
    seen: `${stored.length} in the log, ${broken} requests cut off and sent again, slowest start ${Math.max(...starts)} ms`,
    findings,
  };
};

/** The service over a database of its own that lives on. */
const onDatabase = async (scene: Scene): Promise<Ground> => {
  const database = await createDatabase({ migrated: false });
  scene.later(() => database.drop());
  return { env: { DATABASE_URL: database.url }, log: () => openLog(scene, database.url) };
};

const killServer = async (dataDir: string): Promise<void> => {
  const server = await embeddedServer(dataDir);
  if (server) process.kill(server.pid, 'SIGKILL');
};

/** The service over the embedded server. */
const onEmbedded = async (scene: Scene): Promise<Ground & { readonly dataDir: string }> => {
  const dataDir = await scene.folder();
  scene.later(() => removeEmbedded(dataDir));
  return {
    dataDir,
    env: { DATA_DIR: dataDir },
    log: async () => openLog(scene, (await embeddedServer(dataDir))!.url),
  };
};

const READY_MS = 5_000;
/** The tests run on machines that do other things as well. */
const BUSY_READY_MS = 60_000;

export const killedService: Fault<Dose> = {
  name: 'F1',
  what: 'kill -9 of the service while events arrive',
  doses: {
    short: { rounds: 2, events: 1_000, readyMs: BUSY_READY_MS, batch: 20 },
    full: { rounds: 50, events: 200_000, readyMs: READY_MS, batch: 200 },
  },
  run: async (scene, dose) => killAgainAndAgain(scene, dose, await onDatabase(scene)),
  guard: 'the endpoint answers after the append',
  without: async (scene) =>
    killAgainAndAgain(scene, { ...killedService.doses.short, rounds: 1 }, await onDatabase(scene), true),
};

export const killedServiceAndDatabase: Fault<Dose> = {
  name: 'F2',
  what: 'kill -9 of the service and its embedded database',
  doses: {
    short: { rounds: 1, events: 500, readyMs: BUSY_READY_MS, batch: 20 },
    full: { rounds: 25, events: 50_000, readyMs: READY_MS, batch: 200 },
  },
  run: async (scene, dose) => {
    const ground = await onEmbedded(scene);
    return killAgainAndAgain(scene, dose, { ...ground, alsoKill: () => killServer(ground.dataDir) });
  },
  guard: 'the endpoint answers after the append',
  without: async (scene) => {
    const ground = await onEmbedded(scene);
    return killAgainAndAgain(
      scene,
      killedServiceAndDatabase.doses.short,
      { ...ground, alsoKill: () => killServer(ground.dataDir) },
      true,
    );
  },
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

export const leftDatabase: Fault<Dose> = {
  name: 'F3',
  what: 'kill -9 of the service, its embedded database left running',
  doses: {
    short: { rounds: 1, events: 500, readyMs: BUSY_READY_MS, batch: 20 },
    full: { rounds: 15, events: 30_000, readyMs: READY_MS, batch: 200 },
  },
  run: async (scene, dose) => {
    const ground = await onEmbedded(scene);
    return killAgainAndAgain(scene, dose, { ...ground, look: await adoption(ground.dataDir) });
  },
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

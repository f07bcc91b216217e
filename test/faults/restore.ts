import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { chown, mkdir } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { serverOwner } from '../../src/postgres/embedded/os-user.js';
import { eventuallyPasses } from '../support/eventually.js';
import type { Sent } from '../support/upstream.js';
import type { Fault, Outcome } from './fault.js';
import { checkCounts, checkLog, counted, type Keys, wholeLog } from './rig/check.js';
import { issueKeys, keysKnown, openLog } from './rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from './rig/load.js';
import type { Scene } from './rig/scene.js';
import { Service } from './rig/service.js';

interface Dose {
  readonly events: number;
  /** Whether the other database is in a cluster of its own. */
  readonly isFresh: boolean;
}

/** Where distributions put PostgreSQL's programs; the embedded packages have no pg_dump. */
const findPrograms = (): string | undefined => {
  const [newest] = ['/usr/lib/postgresql', '/opt/homebrew/opt', '/usr/local/opt']
    .filter((parent) => existsSync(parent))
    .flatMap((parent) => readdirSync(parent).map((name) => ({ folder: join(parent, name, 'bin'), name })))
    .map(({ folder, name }) => ({ folder, version: Number(/\d+$/.exec(name)?.[0] ?? 0) }))
    .filter(
      ({ folder, version }) =>
        version >= 15 && existsSync(join(folder, 'pg_dump')) && existsSync(join(folder, 'initdb')),
    )
    .sort((a, b) => b.version - a.version);
  return newest?.folder;
};

const freePort = async (): Promise<number> => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  return typeof address === 'object' ? address!.port : 0;
};

/** A new cluster with an empty database. @returns its URL */
const newCluster = async (scene: Scene, programs: string): Promise<string> => {
  const folder = await scene.folder();
  const cluster = join(folder, 'cluster');
  const owner = serverOwner(cluster);
  await mkdir(cluster, { mode: 0o700 });
  if (owner) await chown(cluster, owner.uid, owner.gid);
  const options = { ...owner, cwd: '/' };
  await promisify(execFile)(
    join(programs, 'initdb'),
    ['-D', cluster, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--no-sync'],
    options,
  );
  const port = await freePort();
  const settings = [`port=${port}`, 'listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=60'];
  const server = spawn(join(programs, 'postgres'), ['-D', cluster, ...settings.flatMap((setting) => ['-c', setting])], {
    ...options,
    stdio: 'ignore',
  });
  scene.later(async () => {
    server.kill('SIGQUIT');
    await Promise.race([once(server, 'exit'), sleep(5_000)]);
  });
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  await eventuallyPasses(async () => {
    const client = new Client({ connectionString: url });
    client.on('error', () => {});
    await client.connect();
    await client.end();
  });
  return url;
};

/** Another database of a cluster. @returns its URL */
const newDatabase = async (cluster: string): Promise<string> => {
  const client = new Client({ connectionString: cluster });
  await client.connect();
  await client.query('create database restored template template0');
  await client.end();
  return cluster.replace(/postgres$/, 'restored');
};

interface Ground {
  readonly scene: Scene;
  readonly programs: string;
  readonly source: string;
  readonly fresh: string;
}

const run = async ({ programs }: Ground, program: string, words: readonly string[]): Promise<void> => {
  await promisify(execFile)(join(programs, program), words);
};

/** One dump of everything, of one moment. */
const dumpAndRestore = async (ground: Ground): Promise<void> => {
  const file = join(await ground.scene.folder(), 'dump');
  await run(ground, 'pg_dump', ['--format=custom', `--file=${file}`, `--dbname=${ground.source}`]);
  await run(ground, 'pg_restore', ['--exit-on-error', `--dbname=${ground.fresh}`, file]);
};

/** The log first and the read models a moment later, when they knew more than the log of the dump. */
const dumpInParts = async (ground: Ground, between: () => Promise<void>): Promise<void> => {
  const folder = await ground.scene.folder();
  for (const schema of ['log', 'read']) {
    const file = join(folder, schema);
    await run(ground, 'pg_dump', [
      '--format=custom',
      `--schema=${schema}`,
      `--file=${file}`,
      `--dbname=${ground.source}`,
    ]);
    await run(ground, 'pg_restore', ['--exit-on-error', `--dbname=${ground.fresh}`, file]);
    if (schema === 'log') await between();
  }
};

const dumpWhileItRuns = async (scene: Scene, { events, isFresh }: Dose, isInParts = false): Promise<Outcome> => {
  const programs = findPrograms()!;
  const source = await newCluster(scene, programs);
  const fresh = isFresh ? await newCluster(scene, programs) : await newDatabase(source);
  const ground = { scene, programs, source, fresh };
  const all = inBatches([...brandsAndFlags(), ...upstream(scene.random, events)], 200);
  const history = new History(scene);
  const { service: first } = await Service.start(scene, { env: { DATABASE_URL: source } });
  const keys: Keys = await issueKeys(await openLog(scene, source));
  await keysKnown(first.url, keys);
  const before = new Sender(() => first.url, keys.ingest, history);
  const some = function* (share: number): Generator<Sent[]> {
    for (let n = 0; n < (share * events) / 200; n += 1) {
      const next = all.next();
      if (next.done) return;
      yield next.value;
    }
  };
  await before.deliver(some(0.5));
  await counted(first.url);
  const dumped = [...history.acknowledged];
  if (isInParts)
    await dumpInParts(ground, async () => {
      await before.deliver(some(0.2));
      await counted(first.url);
    });
  else {
    // What comes while it is dumped is in it or not, but whole.
    const meanwhile = before.deliver(some(0.2));
    await dumpAndRestore(ground);
    await meanwhile;
  }
  before.close();
  await first.stop();
  const findings: string[] = [];
  const env = { DATABASE_URL: fresh };
  const second = await Service.start(scene, { env }).catch((error: Error) => error);
  if (second instanceof Error) return { dose: '-', seen: '-', findings: [second.message] };
  const { service } = second;
  // Its sender knows nothing of a dump and sends all of it again.
  const log = await openLog(scene, fresh);
  const after = new Sender(() => service.url, keys.ingest, history);
  // What comes first is new, so that nothing that is sent again stands where it stood.
  await after.deliver([[...upstream(scene.random, 1)].map((event) => ({ ...event, id: 'after' }))].values());
  await after.deliver([...inBatches(history.acknowledged.slice(dumped.length), 500), ...all].values());
  after.close();
  await counted(service.url, isInParts ? 5_000 : undefined).catch((error: Error) => findings.push(error.message));
  const stored = await wholeLog(log);
  findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
  if (findings.length === 0) findings.push(...(await checkCounts(scene, service, { keys, env, stored })));
  await service.stop();
  return {
    dose: `${stored.length} events, dumped while more came, into a new ${isFresh ? 'cluster' : 'database'}`,
    seen: 'keys, log and counts go on, recount 0 differences',
    findings,
  };
};

export const restored: Fault<Dose> = {
  name: 'F20',
  what: 'a dump is restored into a fresh cluster',
  doses: { short: { events: 1_000, isFresh: false }, full: { events: 50_000, isFresh: true } },
  unfit: async () => (findPrograms() === undefined ? 'no pg_dump of PostgreSQL 15 or later is installed' : undefined),
  run: (scene, dose) => dumpWhileItRuns(scene, dose),
  guard: 'log and read models are dumped at one moment',
  without: (scene) => dumpWhileItRuns(scene, restored.doses.short, true),
};

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrograms, POSTGRES_PROGRAMS, startCluster } from '../../test/support/postgres-programs.js';
import { queryOnce } from '../../test/support/query-once.js';
import type { Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll, checkLog, counted, wholeLog } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import { needs } from '../rig/needs.js';
import { open, openLog } from '../rig/opened.js';
import type { Scene } from '../rig/scene.js';
import { Service } from '../rig/service.js';

interface Dose {
  readonly events: number;
  /** Whether the other database is in a cluster of its own. */
  readonly isFresh: boolean;
}

/** A new cluster with an empty database. @returns its URL */
const newCluster = async (scene: Scene, programs: string): Promise<string> => {
  const { url, stop } = await startCluster(programs, await scene.folder());
  scene.later(stop);
  return url;
};

/** Another database of a cluster. @returns its URL */
const newDatabase = async (cluster: string): Promise<string> => {
  await queryOnce(cluster, 'create database restored template template0');
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
  for (const schema of ['log', 'service', 'read']) {
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
  const all = inBatches([...fullLoad(scene.random, events)], 200);
  const history = new History(scene);
  const { service: first, keys } = await open(scene, { DATABASE_URL: source });
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
  await first.stop();
  const findings: string[] = [];
  const env = { DATABASE_URL: fresh };
  const service = await Service.start(scene, { env }).catch((error: Error) => error);
  if (service instanceof Error) return { dose: '-', seen: '-', findings: [service.message] };
  // Its sender knows nothing of a dump and sends all of it again.
  const log = await openLog(scene, env);
  const after = new Sender(() => service.url, keys.ingest, history);
  // What comes first is new, so that nothing that is sent again stands where it stood.
  await after.deliver([[...upstream(scene.random, 1)].map((event) => ({ ...event, id: 'after' }))].values());
  await after.deliver([...inBatches(history.acknowledged.slice(dumped.length), 500), ...all].values());
  await counted(service.url, isInParts ? 5_000 : undefined).catch((error: Error) => findings.push(error.message));
  const stored = await wholeLog(log);
  findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
  if (findings.length === 0)
    findings.push(...(await checkAll(scene, { service, log, keys, env }, history.acknowledged)));
  return {
    dose: `${stored.length} events, dumped while more came, into a new ${isFresh ? 'cluster' : 'database'}`,
    seen: 'keys, log and counts continue, recount 0 differences',
    findings,
  };
};

export const restored: Scenario<Dose> = {
  name: 'F20',
  what: 'a dump is restored into a fresh cluster',
  full: { events: 50_000, isFresh: true },
  unfit: needs(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (scene, dose) => dumpWhileItRuns(scene, dose),
  guard: 'log and read models are dumped at one moment',
  counterTest: { events: 1_000, isFresh: false },
  without: (scene, dose) => dumpWhileItRuns(scene, dose, true),
};

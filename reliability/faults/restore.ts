import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { findPrograms, POSTGRES_PROGRAMS, startCluster } from '../../test/support/postgres-programs.js';
import { queryOnce } from '../../test/support/query-once.js';
import type { Sent } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkAll, checkLog, waitUntilCounted, wholeLog } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender, upstream } from '../rig/load.js';
import { requireProgram } from '../rig/require-program.js';
import { startService, openLog } from '../rig/running-service.js';
import type { RunContext } from '../rig/run-context.js';
import { Service } from '../rig/service.js';

interface Scale {
  readonly events: number;
  /** Whether the restored database is in a new cluster. */
  readonly isFresh: boolean;
}

/** Creates a cluster with an empty database. @returns its URL */
const newCluster = async (context: RunContext, programs: string): Promise<string> => {
  const { url, stop } = await startCluster(programs, await context.folder());
  context.onEnd(stop);
  return url;
};

/** Creates another database in a cluster. @returns its URL */
const newDatabase = async (cluster: string): Promise<string> => {
  await queryOnce(cluster, 'create database restored template template0');
  return cluster.replace(/postgres$/, 'restored');
};

interface Databases {
  readonly context: RunContext;
  readonly programs: string;
  readonly source: string;
  readonly fresh: string;
}

const run = async ({ programs }: Databases, program: string, words: readonly string[]): Promise<void> => {
  await promisify(execFile)(join(programs, program), words);
};

/** Dumps everything in one consistent dump, and restores it. */
const dumpAndRestore = async (databases: Databases): Promise<void> => {
  const file = join(await databases.context.folder(), 'dump');
  await run(databases, 'pg_dump', ['--format=custom', `--file=${file}`, `--dbname=${databases.source}`]);
  await run(databases, 'pg_restore', ['--exit-on-error', `--dbname=${databases.fresh}`, file]);
};

/** Dumps the log first and the read models later, so that the read models contain events that the dumped log lacks. */
const dumpInParts = async (databases: Databases, between: () => Promise<void>): Promise<void> => {
  const folder = await databases.context.folder();
  for (const schema of ['log', 'service', 'read']) {
    const file = join(folder, schema);
    await run(databases, 'pg_dump', [
      '--format=custom',
      `--schema=${schema}`,
      `--file=${file}`,
      `--dbname=${databases.source}`,
    ]);
    await run(databases, 'pg_restore', ['--exit-on-error', `--dbname=${databases.fresh}`, file]);
    if (schema === 'log') await between();
  }
};

const dumpWhileItRuns = async (
  context: RunContext,
  { events, isFresh }: Scale,
  isInParts = false,
): Promise<Outcome> => {
  const programs = findPrograms()!;
  const source = await newCluster(context, programs);
  const fresh = isFresh ? await newCluster(context, programs) : await newDatabase(source);
  const databases = { context, programs, source, fresh };
  const all = inBatches([...fullLoad(context.random, events)], 200);
  const history = new History(context);
  const { service: first, keys } = await startService(context, { DATABASE_URL: source });
  const before = new Sender(() => first.url, keys.ingest, history);
  const some = function* (share: number): Generator<Sent[]> {
    for (let n = 0; n < (share * events) / 200; n += 1) {
      const next = all.next();
      if (next.done) return;
      yield next.value;
    }
  };
  await before.deliver(some(0.5));
  await waitUntilCounted(first.url);
  const dumped = [...history.acknowledged];
  if (isInParts)
    await dumpInParts(databases, async () => {
      await before.deliver(some(0.2));
      await waitUntilCounted(first.url);
    });
  else {
    // An event that arrives during the dump is in the dump completely or not at all.
    const meanwhile = before.deliver(some(0.2));
    await dumpAndRestore(databases);
    await meanwhile;
  }
  await first.stop();
  const findings: string[] = [];
  const env = { DATABASE_URL: fresh };
  const service = await Service.start(context, { env }).catch((error: Error) => error);
  if (service instanceof Error) return { workload: '-', observed: '-', findings: [service.message] };
  // The sender sends again everything after the beginning of the dump.
  const log = await openLog(context, env);
  const after = new Sender(() => service.url, keys.ingest, history);
  // The first event is new, so that repeated events get other positions than before.
  await after.deliver([[...upstream(context.random, 1)].map((event) => ({ ...event, id: 'after' }))].values());
  await after.deliver([...inBatches(history.acknowledged.slice(dumped.length), 500), ...all].values());
  await waitUntilCounted(service.url, isInParts ? 5_000 : undefined).catch((error: Error) =>
    findings.push(error.message),
  );
  const stored = await wholeLog(log);
  findings.push(...history.wrong, ...checkLog(stored, history.acknowledged));
  if (findings.length === 0)
    findings.push(...(await checkAll(context, { service, log, keys, env }, history.acknowledged)));
  return {
    workload: `${stored.length} events, dumped under load, restored into a new ${isFresh ? 'cluster' : 'database'}`,
    observed: 'keys, log and counts continue, recount without differences',
    findings,
  };
};

export const restored: Scenario<Scale> = {
  name: 'F20',
  what: 'a dump is restored into a new cluster',
  full: { events: 50_000, isFresh: true },
  skipReason: requireProgram(findPrograms() !== undefined, POSTGRES_PROGRAMS),
  run: (context, scale) => dumpWhileItRuns(context, scale),
  guard: 'log and read models are dumped at one moment',
  controlScale: { events: 1_000, isFresh: false },
  withoutGuard: (context, scale) => dumpWhileItRuns(context, scale, true),
};

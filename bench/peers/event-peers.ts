import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import type { Database } from '../database.js';
import { requireEqual } from '../equal.js';
import { storedEvents, upstreamEvents } from '../events.js';
import type { Bench } from '../goal.js';
import { processorTime, processTree, serverOf } from '../installation.js';
import { temporaryFolder } from '../services.js';

const BATCH = 1_000;
const PROGRAM = 'bench/peers/with-marten.cs';

/** What the events cost a peer in its own process and in PostgreSQL. */
export interface PeerCost {
  readonly processorMs: number;
  /** Write-ahead log, in bytes. */
  readonly wal: number;
}

/** Runs a peer's work in the process `pid`, and returns what it has cost. */
const costOf = async (database: Database, pid: number, work: () => Promise<void>): Promise<PeerCost> => {
  const server = await serverOf(database);
  const now = async (): Promise<PeerCost> => {
    const { rows } = await database.pool.query<{ wal: number }>(`select (pg_current_wal_lsn() - '0/0')::float8 as wal`);
    return { wal: rows[0]!.wal, processorMs: processorTime([pid, ...processTree(server)]) };
  };
  const before = await now();
  await work();
  const after = await now();
  return { wal: after.wal - before.wal, processorMs: after.processorMs - before.processorMs };
};

const COUNTED_THREATS = `select sum(n)::float8 as n from counts where measure = 'threat'`;

const threatsOf = async ({ pool }: Database, statement: string): Promise<number> =>
  (await pool.query<{ n: number }>(statement)).rows[0]!.n;

/** Each line is an event as JSON. */
const STORE_STATES = `
  insert into states
  select distinct on (record) * from (
    select line ->> 'stream' as record, line -> 'event' ->> 'type' as event, line -> 'event' -> 'data' as data,
      coalesce(line #>> '{event,data,deletedAt}', line #>> '{event,data,updatedAt}') as version
    from unnest($1::jsonb[]) line
  ) events order by record, version desc
  on conflict (record) do update set (event, data, version) = row (excluded.event, excluded.data, excluded.version)
  where states.version < excluded.version`;

const COUNT_STATES = `
  select sum(n)::float8 as n from (
    select data ->> 'organization', event, data ->> 'status' as status, data -> 'asset' ->> 'type',
      left(data ->> 'createdAt', 10), count(*) as n
    from states group by 1, 2, 3, 4, 5
  ) counts where event = 'ThreatStatusChanged' and status in ('BLOCKED', 'APPROVED', 'AUTO_APPROVED')`;

const linesOf = (count: number): readonly string[] =>
  storedEvents(upstreamEvents(count)).map((event) => JSON.stringify(event));

/** A table of the newest state of each record, which is counted once in the end. */
export const tableOfStates = async (bench: Bench, count: number, threats: number): Promise<PeerCost> => {
  const lines = linesOf(count);
  const database = await bench.database();
  await database.pool.query(`create table states (record text primary key, event text, data jsonb, version text)`);
  return costOf(database, process.pid, async () => {
    for (let at = 0; at < lines.length; at += BATCH)
      await database.pool.query({ name: 'states', text: STORE_STATES, values: [lines.slice(at, at + BATCH)] });
    requireEqual('threats of the table of states', threats, await threatsOf(database, COUNT_STATES));
  });
};

/** Builds Marten's program. @returns whether the .NET SDK is installed and could build it */
const isBuilt = async (bench: Bench, folder: string): Promise<boolean> => {
  const args = ['build', PROGRAM, '-c', 'Release', '-o', folder, '-p:UseSharedCompilation=false'];
  // No process of the compiler stays behind.
  const env = { ...process.env, MSBUILDDISABLENODEREUSE: '1' };
  try {
    await promisify(execFile)('dotnet', args, { env });
    return true;
  } catch (error) {
    const { message, stdout = '' } = error as Error & { stdout?: string };
    bench.say(`Marten is not measured, because the .NET SDK 10 did not build ${PROGRAM}: ${message} ${stdout}`);
    return false;
  }
};

/** Marten appends the events, and its daemon counts them; undefined if its program cannot be built. */
export const marten = async (bench: Bench, count: number, threats: number): Promise<PeerCost | undefined> => {
  const folder = await temporaryFolder(bench);
  if (!(await isBuilt(bench, folder))) return undefined;
  const database = await bench.database();
  const { hostname, port, username, password, pathname, searchParams } = new URL(database.url);
  const host = `Host=${searchParams.get('host') ?? hostname};Port=${port || 5432}`;
  const connection = `${host};Username=${username};Password=${password};Database=${pathname.slice(1)}`;
  const file = join(folder, 'events.ndjson');
  await writeFile(file, linesOf(count).join('\n'));
  const child = spawn('dotnet', [join(folder, 'with-marten.dll'), connection, file], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  bench.onEnd(async () => child.kill());
  const output = createInterface(child.stdout)[Symbol.asyncIterator]();
  // Marten prints warnings of its own.
  const untilLine = async (line: string): Promise<void> => {
    for (let next = await output.next(); next.value !== line; next = await output.next())
      if (next.done) throw new Error(`${PROGRAM} ended before it was ${line}`);
  };
  await untilLine('ready');
  const cost = await costOf(database, child.pid!, async () => {
    child.stdin.write('\n');
    await untilLine('counted');
  });
  requireEqual('threats of Marten', threats, await threatsOf(database, COUNTED_THREATS));
  const ended = once(child, 'exit');
  child.stdin.end('\n');
  await ended;
  return cost;
};

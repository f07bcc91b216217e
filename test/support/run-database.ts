/**
 * A process that holds an embedded PostgreSQL in a temporary folder for as long as its standard input is open, then
 * deletes both: so nothing is left behind however the run that wants it ends. Writes the server's URL as its only line,
 * once it holds a database with the read models' tables to copy, and ends its output once the server has stopped.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { openDatabase } from '../../src/postgres/embedded/embedded-postgres.js';
import { findClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import { createTemplate } from './postgres.js';
import { superuserOf } from './superuser.js';

const folder = await mkdtemp(join(tmpdir(), 'threat-protection-test-'));
// Where we are root the server is another user, who has to pass.
if (process.getuid?.() === 0) await chmod(folder, 0o711);
const { cluster } = await findClusterLayout(folder);
const parents = new Set([dirname(cluster), folder]);

const remove = async (): Promise<void> => {
  for (const parent of parents) await rm(parent, { recursive: true, force: true, maxRetries: 20 });
};

/** What a server needs that keeps its data, or grows old. */
const FOR_GOOD = ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'];

const forgetDurability = async (url: string): Promise<void> => {
  const client = new Client({ connectionString: url });
  await client.connect();
  for (const setting of FOR_GOOD) await client.query(`alter system set ${setting} = off`);
  await client.query('select pg_reload_conf()');
  await client.end();
};

const hold = async (): Promise<void> => {
  // On loopback, so that the faults' proxies can stand between, and so that both ways to listen are used.
  const database = await openDatabase({ databaseUrl: undefined, dataDir: folder }, () => {}, 'loopback');
  process.stdout.on('error', () => {});
  const url = await superuserOf(folder);
  await forgetDurability(url);
  await createTemplate(url);
  process.stdout.write(`${url}\n`);
  for await (const _ of process.stdin);
  await database.release();
  process.stdout.end();
};

// Ctrl-C is for the run; this process ends after it.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.stdin.push(null));
await hold().finally(remove);

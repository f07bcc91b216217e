/**
 * Runs an embedded PostgreSQL in a temporary folder until its standard input is closed, and then deletes the folder, so
 * that nothing remains however the test run ends. Prints the URL of the server once the template database exists, and
 * closes its output once the server has stopped.
 */
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openDatabase } from '../../src/postgres/embedded/embedded-postgres.js';
import { findClusterLayout } from '../../src/postgres/embedded/cluster-layout.js';
import { createTemplate } from './postgres.js';
import { superuserOf } from './superuser.js';

const folder = await mkdtemp(join(tmpdir(), 'threat-protection-test-'));
// If the tests run as root, the server runs as another user, who must be able to enter the folder.
if (process.getuid?.() === 0) await chmod(folder, 0o711);
const { cluster } = await findClusterLayout(folder);
const parents = new Set([dirname(cluster), folder]);

const remove = async (): Promise<void> => {
  for (const parent of parents) await rm(parent, { recursive: true, force: true, maxRetries: 20 });
};

/**
 * A short-lived server does not wait for the disk. Otherwise, a checkpoint would write the hundreds of databases of a run,
 * and the specs would wait for up to a minute.
 */
const SETTINGS = ['fsync=off', 'synchronous_commit=off', 'full_page_writes=off', 'autovacuum=off'];

const hold = async (): Promise<void> => {
  // The server listens on loopback, so that tests can put a proxy in front of it.
  const database = await openDatabase({ databaseUrl: undefined, dataDir: folder }, () => {}, 'loopback', SETTINGS);
  process.stdout.on('error', () => {});
  const url = await superuserOf(folder);
  await createTemplate(url);
  process.stdout.write(`${url}\n`);
  for await (const _ of process.stdin);
  await database.release();
  process.stdout.end();
};

// Ctrl-C ends the test run; this process ends after it.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.stdin.push(null));
await hold().finally(remove);

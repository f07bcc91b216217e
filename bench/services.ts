import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueApiKey } from '../src/api-keys/api-keys.js';
import { apiFlags } from '../src/cli/start.js';
import type { EventLog } from '../src/event-log/event-log.js';
import { createPostgresLog } from '../src/event-log/postgres/log.js';
import type { Scope } from '../src/events/types/organizations.js';
import { createPool } from '../src/postgres/pool.js';
import type { Database } from './database.js';
import { type Bench } from './goal.js';
import { type Child, startChild } from './process.js';

/** A configuration without external lists. */
export const OWN_ONLY = { sources: [{ id: 'own', kind: 'own' }] };

export interface Service {
  readonly url: string;
  readonly child: Child;
}

/** Creates a folder that is deleted at the end of the run. */
export const temporaryFolder = async (bench: Bench): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'threat-protection-bench-'));
  bench.onEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
};

/**
 * Starts an API with production settings, except that the access log is off and that the limits are too high to be
 * reached.
 * @param program `src/main.js`, or a program with additional routes
 */
export const startApi = async (
  bench: Bench,
  database: Database,
  program = 'src/main.js',
  env: NodeJS.ProcessEnv = {},
): Promise<Service> => {
  const settings = {
    DATABASE_URL: database.url,
    DATA_DIR: await temporaryFolder(bench),
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '999999999',
    UNAUTHENTICATED_RATE_LIMIT_PER_MINUTE: '0',
    MAX_CONNECTIONS_PER_ADDRESS: '0',
    // The access log is measured separately, by G1b.
    ACCESS_LOG: 'off',
    LOG_LEVEL: 'error',
    LOG_FORMAT: 'json',
    SOURCES_FILE: await sourcesFile(bench, OWN_ONLY),
    ...env,
  };
  const child = await startChild(program, [], settings, apiFlags(env['EVENTSTORE_URL']));
  bench.onEnd(() => child.stop());
  const { url } = child.firstMessage as { url: string };
  await untilReady(url);
  return { url, child };
};

/** Starts a projector on a database. It stops at the end of the run. @returns its environment */
export const startProjector = async (
  bench: Bench,
  database: Database,
  settings: NodeJS.ProcessEnv = {},
): Promise<NodeJS.ProcessEnv> => {
  const env = { DATABASE_URL: database.url, DATA_DIR: await temporaryFolder(bench), ...settings };
  const child = await startChild('projections/main.js', [], env);
  bench.onEnd(() => child.stop());
  return env;
};

/** Writes a sources file that is deleted at the end of the run. @returns its path */
export const sourcesFile = async (bench: Bench, sources: unknown): Promise<string> => {
  const file = join(await temporaryFolder(bench), 'sources.json');
  await writeFile(file, JSON.stringify(sources));
  return file;
};

const untilReady = async (url: string): Promise<void> => {
  for (let attempt = 0; attempt < 600; attempt += 1) {
    const response = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (response?.ok) return;
    await sleep(50);
  }
  throw new Error(`${url} did not become ready within 30 s`);
};

/** Opens the log of a database. It is closed at the end of the run. */
export const openLog = async (bench: Bench, { url }: Database): Promise<EventLog> => {
  const log = await createPostgresLog(createPool(url, () => {}));
  bench.onEnd(() => log.close());
  return log;
};

/** Starts the peer (`peer-server.ts`) on a database. @returns its URL */
export const startPeer = async (bench: Bench, { url }: Pick<Database, 'url'>): Promise<string> => {
  const peer = await startChild('bench/peer-server.js', [], { DATABASE_URL: url });
  bench.onEnd(() => peer.stop());
  return (peer.firstMessage as { url: string }).url;
};

/**
 * Issues a key with these scopes for each organization, and waits one second, until every instance has read the keys.
 */
export const issueKeys = async (
  database: Database,
  scopes: readonly Scope[],
  organizations: readonly (string | undefined)[],
): Promise<string[]> => {
  const log = await createPostgresLog(createPool(database.url, () => {}));
  try {
    const keys: string[] = [];
    for (const organization of organizations) keys.push((await issueApiKey(log, { scopes, organization })).key);
    // An instance polls for new keys four times a second.
    await sleep(1_000);
    return keys;
  } finally {
    await log.close();
  }
};

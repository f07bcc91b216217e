import { randomBytes } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Pool } from 'pg';
import { openDatabase } from '../src/postgres/embedded/embedded-postgres.js';
import { migrateReadModels } from '../src/read-models/prepare-tables.js';
import { createPool } from '../src/postgres/pool.js';
import { queryOnce } from '../test/support/query-once.js';
import { superuserOf } from '../test/support/superuser.js';

export interface Database {
  readonly url: string;
  readonly pool: Pool;
  drop(): Promise<void>;
}

export interface Server {
  /** The version as the server reports it, such as `17.2`. */
  readonly version: string;
  createDatabase(): Promise<Database>;
  stop(): Promise<void>;
}

const NO_LIMITS = { statement_timeout: 0, query_timeout: 0, lock_timeout: 0, idle_in_transaction_session_timeout: 0 };

/** Opens the PostgreSQL server of the run: the server at `url`, or an embedded server in a temporary folder. */
export const openServer = async (url: string | undefined, say: (line: string) => void): Promise<Server> => {
  const folder = await mkdtemp(join(tmpdir(), 'threat-protection-bench-'));
  // If this process is root, the server runs as another user, who needs access to the folder.
  if (process.getuid?.() === 0) await chmod(folder, 0o711);
  const server = await openDatabase({ databaseUrl: url, dataDir: folder }, say);
  const superuser = url ?? (await superuserOf(folder));
  const [row] = await queryOnce<{ server_version: string }>(superuser, 'show server_version');
  return {
    version: row!.server_version,
    createDatabase: async () => {
      const name = `bench_${randomBytes(6).toString('hex')}`;
      await queryOnce(superuser, `create database ${name}`);
      const named = new URL(superuser);
      named.pathname = `/${name}`;
      const pool = createPool(named.href, () => {}, { max: 20, ...NO_LIMITS });
      await migrateReadModels(pool);
      return {
        url: named.href,
        pool,
        drop: async () => {
          await pool.end();
          await queryOnce(superuser, `drop database ${name} with (force)`);
        },
      };
    },
    stop: async () => {
      await server.release();
      await rm(folder, { recursive: true, force: true, maxRetries: 20 });
    },
  };
};

import { NO_LIMITS } from '../../../support/postgres.js';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Pool } from 'pg';
import { PROJECTIONS } from '../../../../projections/registry.js';
import { rebuild } from '../../../../projections/engine/rebuild.js';
import { verify } from '../../../../projections/engine/verify.js';
import { type Database, openDatabase } from '../../../../src/postgres/embedded/embedded-postgres.js';
import { createPool } from '../../../../src/postgres/pool.js';
import { prepareTables } from '../../../../src/read-models/prepare-tables.js';
import { startApp, type TestApp } from '../../../support/app.js';
import { eventuallyPasses } from '../../../support/eventually.js';
import { queryOnce } from '../../../support/query-once.js';
import { superuserOf } from '../../../support/superuser.js';
import { startProjecting } from '../../../support/projecting.js';
import { sent, stored } from '../../../support/upstream.js';
import { removeFolder, temporaryFolder } from '../../../support/installation.js';

const PASSWORD = 'onlyForThisSpec';

/** The statements that the compose file's PostgreSQL runs once to create the role of the service. */
const COMPOSE_ROLE = /<<'SQL'\n([^]*)\nSQL/
  .exec(readFileSync('docker/service-role.sh', 'utf8'))![1]!
  .replace(":'password'", `'${PASSWORD}'`)
  .split(';')
  .filter((statement) => statement.trim() !== '');

/** A role that may not create schemas. An administrator has created its three schemas. */
const THREE_SCHEMAS = [
  `create role narrow login password '${PASSWORD}'`,
  'create database narrow',
  '\\c narrow',
  'create schema log authorization narrow',
  'create schema read authorization narrow',
  'create schema service authorization narrow',
];

let folder: string;
let server: Database;
let superuser: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  server = await openDatabase({ databaseUrl: undefined, dataDir: join(folder, 'data') }, () => {}, 'loopback');
  superuser = await superuserOf(join(folder, 'data'));
});
afterAll(async () => {
  await server.release();
  await removeFolder(folder);
});

/**
 * Runs the statements as the superuser.
 * @returns the URL of the role's database, which has the name of the role
 */
const administer = async (role: string, statements: readonly string[]): Promise<string> => {
  let url = superuser;
  for (const statement of statements) {
    const [, other] = /^\\c (\w+)$/.exec(statement) ?? [];
    if (other === undefined) await queryOnce(url, statement);
    else url = Object.assign(new URL(superuser), { pathname: `/${other}` }).href;
  }
  return Object.assign(new URL(superuser), { username: role, password: PASSWORD, pathname: `/${role}` }).href;
};

const AT = '2026-03-01T10:00:00.000Z';

/** Starts the API and a projector, waits until they have counted a threat, and then calls `work`. */
const countAThreat = async (databaseUrl: string, work: (app: TestApp, pool: Pool) => Promise<void>): Promise<void> => {
  // Every process prepares the tables at its start.
  await prepareTables({ databaseUrl, migrates: true }, () => {});
  const app = await startApp({ databaseUrl });
  const pool = createPool(databaseUrl, () => {}, NO_LIMITS);
  const projecting = startProjecting(app.log, pool);
  try {
    const asset = { type: 'URL', content: 'evil.example' };
    const times = { createdAt: AT, updatedAt: AT };
    const data = { organization: 'acme', threatId: 't1', asset, status: 'BLOCKED', ...times };
    await app.log.appendAll([stored(sent('ThreatStatusChanged', data))]);
    const key = await app.issueKey({ organization: 'acme' });
    await eventuallyPasses(async () => {
      const response = await fetch(`${app.url}/v2/organization/metrics`, { headers: { 'x-api-key': key } });
      expect(await response.json()).toMatchObject({ metrics: { newThreats: 1 } });
    });
    await work(app, pool);
  } finally {
    await projecting.stop();
    await pool.end();
    await app.close();
  }
};

describe('The service works', () => {
  it('as a role that owns its three schemas and may create no other; a recount names the missing privilege', async () => {
    const url = await administer('narrow', THREE_SCHEMAS);
    await countAThreat(url, async ({ log }, pool) => {
      await expect(rebuild({ pool, log }, [PROJECTIONS[0]!])).rejects.toThrow('permission denied for database narrow');
    });
  });

  // Last, because the superuser has no password afterwards.
  it('as the role of the compose file, which is not a superuser, and may run a recount', async () => {
    const url = await administer('threats', COMPOSE_ROLE);
    await countAThreat(url, async ({ log }, pool) => {
      const { rows } = await pool.query<object>(
        `select rolsuper, rolcreatedb, rolcreaterole from pg_roles where rolname = current_user`,
      );
      expect(rows).toEqual([{ rolsuper: false, rolcreatedb: false, rolcreaterole: false }]);
      await rebuild({ pool, log }, PROJECTIONS);
      expect(await verify({ pool, log }, PROJECTIONS)).toEqual([]);
    });
  });
});

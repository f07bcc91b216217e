import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requireSessions } from '../../src/postgres/require-sessions.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

describe('DATABASE_DIRECT_URL', () => {
  const databases: TestDatabase[] = [];
  const role = `ordinary_${process.pid}`;

  /** For a role without any right but to connect. */
  const urlOf = ({ url }: TestDatabase): string => {
    const parts = new URL(url);
    [parts.username, parts.password] = [role, role];
    return parts.href;
  };

  beforeAll(async () => {
    databases.push(await createDatabase({ migrated: false }), await createDatabase({ migrated: false }));
    await databases[0]!.pool.query(`create role ${role} login password '${role}'`);
    // As hardened servers have it.
    for (const { pool } of databases) await pool.query('revoke execute on function pg_control_system() from public');
  });
  afterAll(async () => {
    await databases[0]!.pool.query(`drop role ${role}`);
    for (const database of databases) await database.drop();
  });

  it('is of the same database, which an ordinary role can see', async () => {
    const [one, other] = databases.map(urlOf) as [string, string];
    await requireSessions(one, { databaseDirectUrl: one });
    await expect(requireSessions(one, { databaseDirectUrl: other })).rejects.toThrow(
      'DATABASE_DIRECT_URL leads to another database than DATABASE_URL: set it to the same one',
    );
  });
});

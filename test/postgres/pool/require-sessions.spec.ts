import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { requireSessions } from '../../../src/postgres/pool.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';

describe('DATABASE_DIRECT_URL', () => {
  const databases: TestDatabase[] = [];
  const role = `ordinary_${process.pid}`;

  /** The URL for a role that may only connect. */
  const urlOf = ({ url }: TestDatabase): string => {
    const parts = new URL(url);
    [parts.username, parts.password] = [role, role];
    return parts.href;
  };

  beforeAll(async () => {
    databases.push(await createDatabase({ migrated: false }), await createDatabase({ migrated: false }));
    await databases[0]!.pool.query(`create role ${role} login password '${role}'`);
    // Hardened servers revoke this function from ordinary roles.
    for (const { pool } of databases) await pool.query('revoke execute on function pg_control_system() from public');
  });
  afterAll(async () => {
    await databases[0]!.pool.query(`drop role ${role}`);
    for (const database of databases) await database.drop();
  });

  it('must lead to the database of DATABASE_URL; a role without privileges suffices for this check', async () => {
    const [one, other] = databases.map(urlOf) as [string, string];
    await requireSessions(one, { databaseDirectUrl: one });
    await expect(requireSessions(one, { databaseDirectUrl: other })).rejects.toThrow(
      'DATABASE_DIRECT_URL and DATABASE_URL lead to different databases: set both to the same one',
    );
  });
});

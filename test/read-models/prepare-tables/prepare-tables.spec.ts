import { describe, expect, it } from '@jest/globals';
import { prepareTables } from '../../../src/read-models/prepare-tables.js';
import { operatorCall } from '../../support/operator-call.js';
import { eventually } from '../../support/eventually.js';
import { newDatabase } from '../../support/open-for-tests.js';

describe('With MIGRATE_ON_START=false', () => {
  const database = newDatabase({ migrated: false });
  const prepared = (writeLog: (line: string) => void, signal?: AbortSignal): Promise<void> =>
    prepareTables({ databaseUrl: database.url, migrates: false }, writeLog, signal);

  it('a process logs the missing migration and waits for `migrate`, and other CLI calls name the missing migration', async () => {
    const logged: string[] = [];
    const waiting = prepared((line) => void logged.push(line));
    await eventually('the process logs that it waits', () => logged.length > 0);
    const env = { DATABASE_URL: database.url, MIGRATE_ON_START: 'false' };
    expect(await operatorCall(env, 'keys', 'list')).toMatchObject({
      code: 78,
      err: expect.stringContaining('`migrate`'),
    });
    expect((await database.pool.query(`select to_regnamespace('read') as found`)).rows).toEqual([{ found: null }]);
    expect(await operatorCall(env, 'migrate')).toMatchObject({ code: 0 });
    await waiting;
    expect(logged).toEqual([
      'The tables lack the migration 0023-baseline; waiting until `migrate` of this version of the service has run (MIGRATE_ON_START is false)',
      'The tables have been migrated to this version of the service',
    ]);
    expect(await operatorCall(env, 'keys', 'list')).toMatchObject({ code: 0 });
  });

  it('a process stops waiting when it receives the stop signal', async () => {
    const stop = new AbortController();
    const waiting = prepared(() => stop.abort(), stop.signal);
    await expect(waiting).resolves.toBeUndefined();
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp, type TestApp } from '../support/app.js';
import { readReference } from '../support/contract.js';
import { eventually } from '../support/eventually.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { projectToHead } from '../support/projecting.js';
import { ANSWERED_WITHOUT, REQUESTS } from '../support/requests.js';
import { whileLocked } from '../support/while-locked.js';

const WAITING = 40;

const folder = mkdtempSync(join(tmpdir(), 'turns-'));
const keyFile = join(folder, 'keys');

let database: TestDatabase;
let app: TestApp;
beforeAll(async () => {
  database = await createDatabase({ pooled: false });
  writeFileSync(keyFile, `${Buffer.alloc(32, 7).toString('base64')}\n`);
  app = await startApp({ databaseUrl: database.url, env: { WEBHOOK_MASTER_KEY_FILE: keyFile } });
  // Lists answer once they have been filled for the first time, and then ask no more whether they are.
  await projectToHead(app.log, app.pool);
  const key = await app.issueKey({ organization: 'acme' });
  await eventually(
    'the lists are filled',
    async () => (await app.call('/v2/organization/reports', { key })).status === 200,
  );
});
afterAll(async () => {
  await app.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

/** Holds every statement on the read models while `work` is done. */
const whileHeld = async (work: () => Promise<void>): Promise<void> => {
  const { rows } = await database.pool.query<{ name: string }>(
    `select format('%I.%I', schemaname, tablename) as name from pg_tables
     where schemaname in ('read', 'service') and tablename <> 'checkpoints'`,
  );
  await whileLocked(
    database.pool,
    rows.map(({ name }) => name),
    work,
  );
};

/** Statements of requests that are held. Followers read one table of their own; requests write nothing themselves. */
const held = async (): Promise<number> => {
  const { rows } = await database.pool.query<{ n: number }>(
    `select count(*) as n from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
       and query !~* '^\\s*(insert|delete)|asset_statuses|ingest_usage|key_uses'`,
  );
  return rows[0]!.n;
};

/** How many are held once no more come: a second statement may wait for its connection to be made. */
const heldInTheEnd = async (): Promise<number> => {
  let most = 0;
  for (let looks = 0; looks < 10; looks += 1) {
    const now = await held();
    if (now > most) [most, looks] = [now, 0];
    await sleep(10);
  }
  return most;
};

const newOrganization = async () => {
  const organization = `org-${randomUUID().slice(0, 8)}`;
  const key = await app.issueKey({ organization, scopes: ['read', 'write', 'ingest'] });
  return async (operation: string, n: number): Promise<number> => {
    const { path, ...options } = REQUESTS[operation]!(n, organization);
    return (await app.call(path, { ...options, key })).status;
  };
};

describe('The turns of an organization', () => {
  it('are taken by every route that needs a key', () => {
    const operations = Object.entries(readReference().paths).flatMap(([, methods]) =>
      Object.values(methods).flatMap(({ operationId, security }) =>
        security?.length && operationId ? [operationId] : [],
      ),
    );
    expect(Object.keys(REQUESTS).sort()).toEqual(operations.sort());
  });

  it.each(ANSWERED_WITHOUT)('are not needed by %s, which answers while every statement hangs', async (operation) => {
    const ask = await newOrganization();
    await whileHeld(async () => {
      expect(await ask(operation, 1)).toBe(200);
    });
  });

  it.each(Object.keys(REQUESTS).filter((operation) => !ANSWERED_WITHOUT.includes(operation)))(
    'leave connections to others, however often one asks for %s',
    async (operation) => {
      const [noisy, quiet] = [await newOrganization(), await newOrganization()];
      const asked: Promise<number>[] = [];
      let other: Promise<number>;
      await whileHeld(async () => {
        for (let n = 0; n < WAITING; n += 1) asked.push(noisy(operation, n));
        await eventually('its statements hang', async () => (await held()) > 0);
        const most = await heldInTheEnd();
        expect(most).toBeLessThanOrEqual(2);
        other = quiet(operation, 1);
        await eventually('the other one has a connection', async () => (await held()) > most);
      });
      expect([200, 201, 404]).toContain(await other!);
      for (const status of await Promise.all(asked)) expect([200, 201, 404, 409, 429, 503]).toContain(status);
    },
  );
});

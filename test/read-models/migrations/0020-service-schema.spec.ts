import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Pool, PoolClient } from 'pg';
import { LOG_MIGRATIONS } from '../../../src/event-log/postgres/schema.js';
import { migrate } from '../../../src/postgres/migrator.js';
import { readIngestUsage, addIngestUsage, forgetIngestUsage } from '../../../src/quotas/usage.js';
import { addEventUsage, forgetEventUsage } from '../../../src/read-models/event-usage.js';
import { noteKeyUses, readKeyUses } from '../../../src/read-models/key-uses.js';
import { migrateReadModels } from '../../../src/read-models/migrate.js';
import {
  addRejectedEvents,
  clearRejectedEvents,
  listRejectedEvents,
  MAX_ROWS,
} from '../../../src/read-models/rejected-events.js';
import { listAllWebhooks } from '../../../src/webhooks/list-all-webhooks.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { rawStatements } from '../every-statement.js';
import { type Batch, tables, VALUES } from '../../../reliability/growth/values.js';
import { SERVICE_TABLES, UNDO_SERVICE_SCHEMA } from './service-schema.js';

const ROWS = 20;

/** Every row of the tables of `service`. */
const rowsOf = async (pool: Pick<Pool, 'query'>): Promise<Record<string, unknown>> => {
  const kept: Record<string, unknown> = {};
  for (const table of SERVICE_TABLES) {
    const { rows } = await pool.query(`select t::text as row from service.${table} t order by 1`);
    kept[table] = rows;
  }
  return kept;
};

/** Table or view, by name, of those in a schema that have the name of a table of `service`. */
const kindsIn = async (pool: Pool, schema: string): Promise<Record<string, string>> => {
  const { rows } = await pool.query<{ name: string; kind: string }>(
    `select relname as name, relkind as kind from pg_class
     where relnamespace = to_regnamespace($1) and relname = any($2)`,
    [schema, SERVICE_TABLES],
  );
  return Object.fromEntries(rows.map(({ name, kind }) => [name, kind]));
};
const all = (kind: string): Record<string, string> => Object.fromEntries(SERVICE_TABLES.map((table) => [table, kind]));

const fill = async (pool: Pool): Promise<void> => {
  await migrate(pool, 'log', LOG_MIGRATIONS);
  for (const statement of tables(ROWS).split(';')) await pool.query(statement);
  await pool.query(`
    insert into service.webhook_outcomes values ('delivered', 7);
    insert into service.rejected_events values (1, 'k', 'data', 1, 1, '{}')`);
};

let database: TestDatabase;
let pool: Pool;

beforeEach(async () => {
  database = await createDatabase();
  ({ pool } = database);
});
afterEach(() => database.drop());

const isAsDue = async (kept: Record<string, unknown>): Promise<void> => {
  expect(await kindsIn(pool, 'service')).toEqual(all('r'));
  expect(await kindsIn(pool, 'read')).toEqual(all('v'));
  expect(await rowsOf(pool)).toEqual(kept);
};

describe('The schema service', () => {
  it('has every table that the log does not hold, and keeps its rows when the read models are dropped', async () => {
    await fill(pool);
    const kept = await rowsOf(pool);
    for (const rows of Object.values(kept)) expect(rows).not.toEqual([]);
    await isAsDue(kept);
    await pool.query('drop schema read cascade');
    await migrateReadModels(pool);
    await isAsDue(kept);
    expect((await pool.query('select from read.facts')).rows).toEqual([]);
  });

  it('takes the rows of the version before it', async () => {
    await fill(pool);
    const kept = await rowsOf(pool);
    await pool.query(UNDO_SERVICE_SCHEMA);
    expect(await kindsIn(pool, 'read')).toEqual(all('r'));
    await migrateReadModels(pool);
    await isAsDue(kept);
  });

  it('is left as it is if its migration runs again', async () => {
    await fill(pool);
    const kept = await rowsOf(pool);
    await pool.query(`delete from read.later_migrations where name = '0020-service-schema'`);
    await migrateReadModels(pool);
    await isAsDue(kept);
  });

  it('takes what an earlier version has written since the read models were dropped', async () => {
    await noteKeyUses(pool, [{ keyId: 'kept', lastUsedAt: 1 }]);
    // A later version has added a column, which the tables that are made again do not have.
    await pool.query(`
      alter table service.key_uses add column later int not null default 5;
      drop view read.key_uses;
      create table read.key_uses (key_id text collate "C" primary key, last_used_at bigint not null);
      insert into read.key_uses values ('kept', 0), ('since', 2);
      delete from read.later_migrations where name = '0020-service-schema'`);
    await migrateReadModels(pool);
    expect((await pool.query('select * from service.key_uses order by key_id')).rows).toEqual([
      { key_id: 'kept', last_used_at: 1, later: 5 },
      { key_id: 'since', last_used_at: 2, later: 5 },
    ]);
    expect(await kindsIn(pool, 'read')).toEqual(all('v'));
  });

  it('may be changed by a later migration', async () => {
    await pool.query('alter table service.webhook_progress add column if not exists later int not null default 1');
    await pool.query(
      `insert into read.webhook_progress (endpoint, replay, log_id, position) values ('w', 0, 'log', 0)`,
    );
    await pool.query('drop schema read cascade');
    await migrateReadModels(pool);
    expect((await pool.query('select endpoint, tries, later from read.webhook_progress')).rows).toEqual([
      { endpoint: 'w', tries: 0, later: 1 },
    ]);
  });

  it('needs no right to create schemas if it is there', async () => {
    await pool.query(UNDO_SERVICE_SCHEMA);
    const name = new URL(database.url).pathname.slice(1);
    await pool.query(`
      create role ${name} login; create schema service authorization ${name}; alter schema read owner to ${name}`);
    const { rows } = await pool.query<{ table: string }>(
      `select format('%I.%I', schemaname, tablename) as table from pg_tables where schemaname = 'read'`,
    );
    for (const { table } of rows) await pool.query(`alter table ${table} owner to ${name}`);
    const connection = await pool.connect();
    try {
      await connection.query(`set role ${name}`);
      await migrateReadModels(lent(connection));
      await isAsDue(await rowsOf(pool));
    } finally {
      await connection.query('reset role');
      connection.release();
      await pool.query(`reassign owned by ${name} to current_user; drop role ${name}`);
    }
  });
});

/** A pool of one connection that is somebody else's. */
const lent = (connection: PoolClient, reword = (text: string): string => text): Pool => {
  const query = (statement: string | { readonly text: string }, values?: unknown[]): unknown =>
    typeof statement === 'string'
      ? connection.query(reword(statement), values)
      : // Without its name: a text is prepared once under each.
        connection.query({ ...statement, name: undefined, text: reword(statement.text) } as never, values);
  return { query, connect: () => Promise.resolve({ query, release() {} }), end() {} } as unknown as Pool;
};

/** As the version before wrote it. */
const asBefore = (text: string): string => text.replaceAll(/\bservice\./g, 'read.').replaceAll('"service".', '"read".');

/** What something returns and leaves in the tables; it is undone. */
const effectOf = async (work: (connection: PoolClient) => Promise<unknown>): Promise<unknown> => {
  const connection = await pool.connect();
  try {
    await connection.query('begin');
    const result = await work(connection);
    return { result, rows: await rowsOf(connection) };
  } finally {
    await connection.query('rollback');
    connection.release();
  }
};

/** An effect without the instants that the database's clock has put into it. */
const withoutNow = (effect: unknown): string => JSON.stringify(effect).replace(/\b1[7-9]\d{11}\b/g, 'now');

describe('The version before the schema service', () => {
  beforeEach(() => fill(pool));

  it('reads and writes the same rows with its statements, through the views', async () => {
    const statements = (await rawStatements()).map(({ statement: { name, text } }) => [name, text] as const);
    // The column `event` is newer than the views, and so are the statements that name it.
    const concerned = statements.filter(([, text]) => asBefore(text) !== text && !/\bevent\b/.test(text));
    expect(concerned.map(([name]) => name)).toEqual(
      expect.arrayContaining(['ingest-usage-add', 'webhooks-progress', 'event-usage-of']),
    );
    for (const first of [1, 1 + ROWS]) {
      const batch: Batch = (element) => Array.from({ length: ROWS }, (_, i) => element(first + i));
      for (const [name, text] of concerned) {
        const run = (sql: string) =>
          effectOf(async (connection) => {
            const { rows, rowCount } = await connection.query(sql, [...VALUES[name]!(batch, ROWS)]);
            return { rows, rowCount };
          });
        expect([name, withoutNow(await run(asBefore(text)))]).toEqual([name, withoutNow(await run(text))]);
      }
    }
  });

  const sample = { id: null, source: 's', type: 'T', issues: [], data: null };
  const rejected = { owner: 'acme', keyId: 'k', reason: 'data', type: 'T', count: 1, lastAt: 1, sample };
  it.each<[string, (pool: Pool) => Promise<unknown>]>([
    ['adds to quotas', (of) => addIngestUsage(of, 1, [{ organization: 'o1', events: 2, bytes: 3 }])],
    ['reads quotas', (of) => readIngestUsage(of, 1)],
    ['forgets quotas', (of) => forgetIngestUsage(of)],
    ['counts events', (of) => addEventUsage(of, [{ owner: 'o1', day: 1, type: 'T', outcome: 'accepted', events: 2 }])],
    ['forgets counts of events', (of) => forgetEventUsage(of)],
    ['notes uses of keys', (of) => noteKeyUses(of, [{ keyId: 'k1', lastUsedAt: 9 }])],
    ['reads uses of keys', (of) => readKeyUses(of)],
    ['lists rejections', (of) => listRejectedEvents(of)],
    ['clears rejections', (of) => clearRejectedEvents(of)],
    ['lists webhooks', (of) => listAllWebhooks(of)],
    [
      'cuts rejections to their maximum',
      (of) =>
        addRejectedEvents(
          of,
          Array.from({ length: MAX_ROWS }, (_, day) => ({ ...rejected, day: 100 + day })),
        ),
    ],
  ])('%s through the views', async (_, work) => {
    const before = await effectOf((connection) => work(lent(connection, asBefore)));
    expect(before).toEqual(await effectOf((connection) => work(lent(connection))));
  });
});

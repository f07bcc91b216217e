import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import ts from 'typescript';
import * as assetGroupRows from '../../projections/asset-groups/statements.js';
import * as assetStatusRows from '../../projections/asset-statuses-sql.js';
import * as brandRows from '../../projections/brands-and-flags-sql.js';
import * as engine from '../../projections/engine/statements.js';
import * as metricRows from '../../projections/metrics/statements.js';
import * as takedownRows from '../../projections/takedowns-sql.js';
import * as assetCheck from '../../src/asset-check/statements.js';
import * as assetGroups from '../../src/asset-groups/statements.js';
import * as log from '../../src/event-log/postgres/statements.js';
import { LOG_MIGRATIONS } from '../../src/event-log/postgres/schema.js';
import * as comparison from '../../src/metrics/comparison-sql.js';
import * as count from '../../src/metrics/count-sql.js';
import * as takedownStatistics from '../../src/metrics/takedown-statistics-sql.js';
import * as timeline from '../../src/metrics/timeline-sql.js';
import { migrate } from '../../src/postgres/migrator.js';
import * as readModels from '../../src/read-models/statements.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

interface Statement {
  readonly name: string;
  readonly text: string;
}

const RANGE = { from: 0, to: 1 };

/** Every statement that is written as SQL. The others are Kysely's, which the compiler checks against `Tables`. */
const RAW: Readonly<Record<string, readonly Statement[]>> = {
  'src/event-log/postgres/statements.ts': [log.READ_ALL, log.READ_STREAM, log.HEAD, log.APPEND],
  'src/read-models/statements.ts': [
    readModels.ADD_INGEST_USAGE,
    readModels.NOTE_KEY_USES,
    readModels.ADD_REJECTED_EVENTS,
  ],
  'src/metrics/count-sql.ts': [count.COUNT],
  'src/metrics/comparison-sql.ts': [comparison.COMPARISON],
  'src/metrics/timeline-sql.ts': [
    timeline.timelineStatement('acme', '', RANGE, 'day', 0),
    timeline.timelineStatement('acme', '', RANGE, 'week', 0),
  ],
  'src/metrics/takedown-statistics-sql.ts': [
    { name: 'takedown-statistics', ...takedownStatistics.takedownStatistics('acme', undefined, RANGE) },
    { name: 'takedown-statistics-of-brand', ...takedownStatistics.takedownStatistics('acme', 'shoes', RANGE) },
  ],
  'src/asset-check/statements.ts': [assetCheck.STATUS_CHANGES, assetCheck.NEWEST_STATUS_ENTRIES],
  'src/asset-groups/statements.ts': [
    assetGroups.KNOWN_GROUPS,
    assetGroups.FIND_GROUP,
    assetGroups.READ_STATE,
    assetGroups.READ_ROWS,
  ],
  'projections/engine/statements.ts': [
    engine.TAKE_LEASE,
    engine.ENTER_CHECKPOINTS,
    engine.MOVE_CHECKPOINTS,
    engine.PARK,
    engine.TRY_LOCK,
    engine.UNLOCK_ALL,
    engine.COLUMNS_OF_TABLE,
  ],
  'projections/metrics/statements.ts': [
    metricRows.ENTER_RECORDS,
    metricRows.UPDATE_RECORDS,
    metricRows.DELETE_FACTS,
    metricRows.INSERT_FACTS,
    ...[metricRows.DAYS, metricRows.TYPE_DAYS].flatMap(({ add, take }) => [add, take]),
  ],
  'projections/takedowns-sql.ts': [takedownRows.STORE_TAKEDOWNS],
  'projections/brands-and-flags-sql.ts': [brandRows.STORE_BRANDS, brandRows.STORE_FLAGS],
  'projections/asset-statuses-sql.ts': [
    assetStatusRows.READ_ENTRIES,
    assetStatusRows.STORE_ENTRIES,
    assetStatusRows.STORE_STATUSES,
  ],
  'projections/asset-groups/statements.ts': [
    assetGroupRows.STORE_STREAMS,
    assetGroupRows.STORE_GROUPS,
    assetGroupRows.STORE_ANSWERS,
    assetGroupRows.FORGET_ANSWERS,
    assetGroupRows.STORE_ASSETS,
  ],
};

/** What names a schema or a table that is known only when it runs, or cannot be prepared; a spec runs each of them. */
const RUN: Readonly<Record<string, { readonly by: string; readonly sql: readonly string[] }>> = {
  // Tables of a projection in a schema beside the live one.
  'projections/engine/replay.ts': {
    by: 'test/projections/projector.spec.ts',
    sql: ['drop schema if exists "…" cascade; create schema "…"', 'create table "…"."…" (like read."…" including all)'],
  },
  'projections/engine/rebuild.ts': {
    by: 'test/projections/projector.spec.ts',
    sql: [
      'drop schema "…" cascade',
      'drop table read."…"; alter table "…"."…" set schema read',
      'insert into read.parked_events select * from "…".parked_events',
    ],
  },
  'projections/engine/verify.ts': {
    by: 'test/projections/projector.spec.ts',
    sql: ['drop schema if exists "…" cascade', 'select … from … except all select … from … limit …'],
  },
  // Each table of a projection.
  'projections/engine/parking.ts': {
    by: 'test/projections/projector.spec.ts',
    sql: ['delete from "…" where false'],
  },
};
/** Run by every spec that has a database: the tables themselves, and the role that owns them. */
const SCHEMAS =
  /^src\/(?:read-models\/migrations\/[\w-]+|event-log\/postgres\/schema|postgres\/embedded\/database-role)\.ts$/;

const BEGINS =
  /^\s*(?:(?:select|insert\s+into|delete\s+from|merge\s+into|truncate)\s|update\s+\S+\s+(?:\w+\s+)?set\s|with\s+\w+\s+as\s|(?:create|alter|drop)\s+(?:schema|table|index|function|role|view)\s)/i;
const NAMES_A_TABLE = /\b(?:from|join|using|into|update|table)\s+(?:only\s+)?"?(?:read|log)"?\./i;

/** A source without this need not be parsed. */
const MAY_HOLD_SQL = new RegExp(`['"\`]${BEGINS.source.slice(1)}|${NAMES_A_TABLE.source}|\\bsql\\b`, 'i');

/** The statements and parts of statements in a source, an ellipsis for each value; every `sql` template is one. */
const sqlIn = (path: string, source: string): string[] => {
  if (!MAY_HOLD_SQL.test(source)) return [];
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    const text =
      ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)
        ? node.text
        : ts.isTemplateExpression(node)
          ? node.head.text + node.templateSpans.map(({ literal }) => `…${literal.text}`).join('')
          : undefined;
    const isTagged =
      ts.isTaggedTemplateExpression(node.parent ?? node) &&
      (node.parent as ts.TaggedTemplateExpression).template === node &&
      (node.parent as ts.TaggedTemplateExpression).tag.getText() === 'sql';
    if (text !== undefined && (isTagged || BEGINS.test(text) || NAMES_A_TABLE.test(text))) found.push(text);
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.ES2023, true));
  return found;
};

const isPartOf = (part: string, text: string): boolean => {
  let from = 0;
  return part.split('…').every((piece) => {
    const at = text.indexOf(piece, from);
    from = at + piece.length;
    return at !== -1;
  });
};

/** What is neither prepared nor run by a spec. */
const uncheckedIn = (path: string, source: string): string[] => {
  if (SCHEMAS.test(path)) return [];
  const statements = RAW[path]?.map(({ text }) => text) ?? [];
  const run = RUN[path]?.sql ?? [];
  return sqlIn(path, source)
    .filter((sql) => !run.includes(sql) && !statements.some((text) => isPartOf(sql, text)))
    .map((sql) => `${path}: ${sql.trim().replace(/\s+/g, ' ').slice(0, 60)}`);
};

const root = join(import.meta.dirname, '../..');
const sourcesIn = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/')));
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('A statement that is written as SQL', () => {
  let database: TestDatabase;
  let connection: PoolClient;

  beforeAll(async () => {
    database = await createDatabase();
    await migrate(database.pool, 'log', LOG_MIGRATIONS);
    connection = await database.pool.connect();
  });

  afterAll(async () => {
    connection.release();
    await database.drop();
  });

  const all = Object.entries(RAW).flatMap(([path, statements]) =>
    statements.map(({ name, text }) => ({ path, name, text })),
  );

  it.each(all)('is one that the migrated schema can run: $name of $path', async ({ path, name, text }) => {
    // A projection names its tables without a schema.
    await connection.query(path.startsWith('projections/') ? 'set search_path = read' : 'reset search_path');
    await connection.query(`prepare "${name}" as ${text}`);
  });

  it('has a name of its own, because a connection prepares it once', () => {
    expect(new Set(all.map(({ name }) => name)).size).toBe(all.length);
  });

  it('is in a file that is named for it, or is run by a spec', () => {
    expect(Object.keys(RAW).filter((path) => !/(?:\/statements|-sql)\.ts$/.test(path))).toEqual([]);
    expect(Object.values(RUN).filter(({ by }) => !existsSync(join(root, by)))).toEqual([]);
    expect(
      Object.entries(RUN).flatMap(([path, { sql }]) => sql.filter((one) => !sqlIn(path, read(path)).includes(one))),
    ).toEqual([]);
  });

  it('is nowhere but where it is named here', () => {
    expect([...sourcesIn('src'), ...sourcesIn('projections')].flatMap((path) => uncheckedIn(path, read(path)))).toEqual(
      [],
    );
  });

  it.each([
    ['src/metrics/a.ts', "await pool.query('select 1 from read.days');"],
    ['src/metrics/a.ts', 'await pool.query({ text: `\n  update read.days set n = ${n}` });'],
    ['src/metrics/a.ts', 'const FROM = ` from read.days`;'],
    ['src/metrics/a.ts', 'const rows = await sql`explain verbose`.execute(db);'],
    ['projections/a.ts', 'const STORE = `insert into days (n) values ($1)`;'],
    ['projections/takedowns-sql.ts', "export const ONE_MORE = { name: 'one', text: `delete from takedowns` };"],
    ['projections/engine/verify.ts', 'await pool.query(`drop table read."${table}"`);'],
  ])('is found in %s: %s', (path, source) => {
    expect(uncheckedIn(path, source)).toHaveLength(1);
  });

  it('is not what comments and messages say', () => {
    const source = "// select * from read.days\nthrow new Error('Drop the read models, or update them with care');";
    expect(uncheckedIn('src/metrics/a.ts', source)).toEqual([]);
  });
});

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import ts from 'typescript';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { rawStatements, sourcesIn, typesOf, unexpectedNulls } from '../support/every-statement.js';
import { VALUES } from '../support/cases/statement-values.js';

const RAW = await rawStatements();

/** Statements that cannot be prepared or whose tables are known only at run time. A spec runs each of them. */
const STATEMENTS_RUN_BY_A_SPEC: Readonly<Record<string, { readonly by: string; readonly sql: readonly string[] }>> = {
  // The shadow tables of a projection.
  'projections/engine/apply-log.ts': {
    by: 'test/projections/engine/rebuild.spec.ts',
    sql: [
      'drop schema if exists "…" cascade; create schema "…"',
      'create table "…"."…" (like read."…" including all)',
      'alter table "…"."…" set (…)',
      'alter index "…"."…" rename to "…"',
      'drop schema if exists "…" cascade',
    ],
  },
  'projections/engine/rebuild.ts': {
    by: 'test/projections/engine/projector/projector.spec.ts',
    sql: [
      'drop table read."…"; alter table "…"."…" set schema read',
      'insert into read.parked_events select * from "…".parked_events on conflict do nothing',
    ],
  },
  // This spec prepares the statements that `storeNewest` creates.
  'projections/store-newest.ts': {
    by: 'test/read-models/raw-statements.spec.ts',
    sql: [
      `
    insert into … as t (…) select … from unnest(…) i (…)
    on conflict (…) do update set …
    where ……
    …`,
    ],
  },
  // This spec prepares the statements that contain this subquery.
  'src/read-models/checkpoints.ts': {
    by: 'test/read-models/raw-statements.spec.ts',
    sql: [
      `(
      select case when count(*) = … then min(position) else -1 end from read.checkpoints
      where projection in (…))`,
      `
    select … as position,
      (select coalesce(json_agg(listed), '[]') from (…
      ) listed) as rows`,
    ],
  },
  'projections/engine/verify.ts': {
    by: 'test/projections/engine/projector/projector.spec.ts',
    sql: ['select … from … except all select … from … limit …'],
  },
  'src/read-models/previous-version.ts': {
    by: 'test/features/erase.spec.ts',
    sql: ['drop table if exists read."…"'],
  },
  'src/cli/erasing/erase-organization.ts': {
    by: 'test/features/erase.spec.ts',
    sql: ['drop schema if exists "…" cascade'],
  },
  'src/read-models/expiry.ts': {
    by: 'test/read-models/expiry.spec.ts',
    sql: [
      `select t.ctid as id, true as expired, null::text[] as place, row_number() over () as nth
        from … t … where … limit :limit`,
      `select *, row_number() over () as nth from (
        select t.ctid as id, coalesce(…, false) as expired, array[…] as place
        from … t …
        where (…) > (…)
        order by … limit :limit
      ) walked`,
      `
        with page as materialized (…), deleted as (
          delete from … where … and ctid = any(array(select id from page where expired)) returning 1
        )
        select (select count(*) from page) as examined, (select count(*) from deleted) as deleted,
          (select place from page order by nth desc limit 1) as last`,
      'select count(*) as rows from (select from … t … where … limit …) expired',
    ],
  },
  'src/lists/names/name-statements.ts': {
    by: 'test/lists/names/list-names.spec.ts',
    sql: ['lock table service.list_names in share row exclusive mode'],
  },
  'src/cli/erasing/statistics-sql.ts': {
    by: 'test/features/erase.spec.ts',
    sql: ['select from … limit 1', 'alter table … …'],
  },
  // Settings of a connection.
  'src/postgres/transaction.ts': {
    by: 'test/postgres/pool/pool.spec.ts',
    sql: [
      "select current_setting('transaction_read_only') = 'on' as is_read_only, current_setting('server_encoding') as encoding, current_setting('server_version_num')::int as version…",
    ],
  },
  // Tables of projections.
  'projections/engine/parking.ts': {
    by: 'test/projections/engine/projector/projector.spec.ts',
    sql: ['delete from "…" where false'],
  },
};
/** The files whose statements migrate a database or create roles. Every spec with a database runs these statements. */
const SCHEMA_FILES =
  /^src\/(?:read-models\/migrations\/[\w/-]+|event-log\/postgres\/schema|postgres\/(?:embedded\/database-role|migrator))\.ts$/;

/** A value of each type. `day` is also the name of an interval. */
const SAMPLES: Readonly<Record<string, string>> = {
  text: 'day',
  uuid: '00000000-0000-4000-8000-000000000000',
  boolean: 'true',
  smallint: '0',
  integer: '0',
  bigint: '0',
  json: '[]',
  interval: '1 day',
  bytea: '',
};

const STATEMENT_START =
  /^\s*(?:(?:select|insert\s+into|delete\s+from|merge\s+into|truncate)\s|update\s+\S+\s+(?:\w+\s+)?set\s|with\s+\w+\s+as\s|(?:create|alter|drop)\s+(?:schema|table|index|function|role|view)\s)/i;
const NAMES_A_TABLE = /\b(?:from|join|using|into|update|table)\s+(?:only\s+)?"?(?:read|service|log)"?\./i;

/** Only sources that match are parsed. */
const MAY_HOLD_SQL = new RegExp(`['"\`]${STATEMENT_START.source.slice(1)}|${NAMES_A_TABLE.source}|\\bsql\\b`, 'i');

/** The SQL statements and parts of statements in a source, with an ellipsis for each value. */
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
    if (text !== undefined && (isTagged || STATEMENT_START.test(text) || NAMES_A_TABLE.test(text))) found.push(text);
    node.forEachChild(visit);
  };
  visit(ts.createSourceFile(path, source, ts.ScriptTarget.ES2023, true));
  return found;
};

/** The numbers and types of the parameters are in the text of a statement, their names in its source. */
const PARAMETER = /(?<!:):[a-z]\w*/g;

const isPartOf = (part: string, text: string): boolean => {
  let from = 0;
  return part
    .replace(PARAMETER, '…')
    .split('…')
    .every((piece) => {
      const at = text.indexOf(piece, from);
      from = at + piece.length;
      return at !== -1;
    });
};

/** The SQL of a source that is neither part of a prepared statement in the same folder nor run by a spec. */
const uncheckedIn = (path: string, source: string): string[] => {
  if (SCHEMA_FILES.test(path)) return [];
  const statements = RAW.filter((one) => dirname(one.path) === dirname(path)).map(({ statement }) => statement.text);
  const runByASpec = STATEMENTS_RUN_BY_A_SPEC[path]?.sql ?? [];
  return sqlIn(path, source)
    .filter((sql) => !runByASpec.includes(sql) && !statements.some((text) => isPartOf(sql, text)))
    .map((sql) => `${path}: ${sql.trim().replace(/\s+/g, ' ').slice(0, 60)}`);
};

const root = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

describe('A statement in SQL', () => {
  let database: TestDatabase;
  let connection: PoolClient;

  beforeAll(async () => {
    database = await createDatabase();
    connection = await database.pool.connect();
  });

  afterAll(async () => {
    connection.release();
    await database.drop();
  });

  const all = RAW.map(({ path, statement }) => ({ path, name: statement.name, statement }));

  it.each(all)(
    'has the declared types of parameters and columns: $name of $path',
    async ({ path, name, statement }) => {
      // A projection names its tables without a schema.
      await connection.query(path.startsWith('projections/') ? 'set search_path = read' : 'reset search_path');
      await connection.query(`prepare "${name}" as ${statement.text}`);
      const prepared = await connection.query<{ types: string[] }>(
        'select parameter_types::text[] as types from pg_prepared_statements where name = $1',
        [name],
      );
      const parameters = typesOf(statement.parameters);
      expect(parameters).toEqual(prepared.rows[0]!.types);

      await connection.query('begin');
      const { fields, rows } = await connection.query(
        statement.text,
        parameters.map((type) => (type.endsWith('[]') ? '{}' : SAMPLES[type])),
      );
      await connection.query('rollback');
      const types = await connection.query<{ oid: number; type: string }>(
        'select oid, oid::regtype::text as type from pg_type',
      );
      const typeOf = new Map(types.rows.map(({ oid, type }) => [oid, type]));
      expect(Object.entries(statement.columns).map(([column], n) => [column, typesOf(statement.columns)[n]])).toEqual(
        fields.map((field) => [field.name, typeOf.get(field.dataTypeID)]),
      );
      expect(unexpectedNulls(statement, rows)).toEqual([]);
    },
  );

  it('has example values for reliability/growth/growth.spec.ts', () => {
    const names = RAW.map(({ statement }) => statement.name);
    expect(names.sort()).toEqual(Object.keys(VALUES).sort());
  });

  it('is never run with a typed `query<Row>` call, because rows are read with Kysely or with declared statements', () => {
    const typed = [...sourcesIn('src'), ...sourcesIn('projections')].filter((path) => /\.query</.test(read(path)));
    expect(typed).toEqual([]);
  });

  it('names its parameters instead of numbering them', () => {
    const numbered = [...sourcesIn('src'), ...sourcesIn('projections')]
      .filter((path) => !SCHEMA_FILES.test(path))
      .flatMap((path) => sqlIn(path, read(path)).filter((sql) => /\$\d/.test(sql)));
    expect(numbered).toEqual([]);
  });

  it('is in a statements file, or is run by a spec', () => {
    expect(Object.values(STATEMENTS_RUN_BY_A_SPEC).filter(({ by }) => !existsSync(join(root, by)))).toEqual([]);
    expect(
      Object.entries(STATEMENTS_RUN_BY_A_SPEC).flatMap(([path, { sql }]) =>
        sql.filter((one) => !sqlIn(path, read(path)).includes(one)),
      ),
    ).toEqual([]);
  });

  it('appears only in the files that this spec lists', () => {
    expect([...sourcesIn('src'), ...sourcesIn('projections')].flatMap((path) => uncheckedIn(path, read(path)))).toEqual(
      [],
    );
  });

  it.each([
    ['src/dashboard/a.ts', "await pool.query('select 1 from read.days');"],
    ['src/dashboard/a.ts', 'await pool.query({ text: `\n  update read.days set n = ${n}` });'],
    ['src/dashboard/a.ts', 'const FROM = ` from read.days`;'],
    ['src/dashboard/a.ts', 'const FROM = ` from service.key_uses`;'],
    ['src/dashboard/a.ts', 'const rows = await sql`explain verbose`.execute(db);'],
    ['projections/a.ts', 'const STORE = `insert into days (n) values ($1)`;'],
    ['projections/takedowns.ts', "export const ONE_MORE = { name: 'one', text: `delete from takedowns` };"],
    ['projections/engine/verify.ts', 'await pool.query(`drop table read."${table}"`);'],
  ])('is detected in %s: %s', (path, source) => {
    expect(uncheckedIn(path, source)).toHaveLength(1);
  });

  it('is not detected in comments and messages', () => {
    const source = "// select * from read.days\nthrow new Error('Drop the read models, or update them with care');";
    expect(uncheckedIn('src/dashboard/a.ts', source)).toEqual([]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { transact } from '../../projections/engine/projection.js';
import { LOG_MIGRATIONS } from '../../src/event-log/postgres/schema.js';
import { migrate } from '../../src/postgres/migrator.js';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { INDEX_ORDER_SETTINGS } from '../../src/read-models/pools.js';
import { rawStatements, unexpectedNulls } from '../../test/support/every-statement.js';
import { type Batch, hash, MAX_ROWS, tables, VALUES } from '../../test/support/cases/statement-values.js';

/** The rows of each table and the elements of each array. Ten times as many may cost about ten times as much. */
const FEW = 300;
const MANY = 3_000;
/** Allows for costs that are not exact multiples, such as a deeper index tree or pages that are not full. */
const TOLERANCE = 2;
/** The fixed cost that any statement may have, in rows and pages. */
const ALLOWANCE = 2_000;

const maxCost = (few: number, times: number): number => ALLOWANCE + TOLERANCE * few * times;

/** The names of statements that run on the connections of lists and the feed, which have special planner settings. */
const USES_RECORDS_SETTINGS = /^(?:records-(?:list|next|count|find)|feed-next|webhooks-progress)/;

interface Plan {
  readonly 'Node Type': string;
  readonly 'Actual Rows': number;
  readonly 'Actual Loops': number;
  readonly 'Rows Removed by Filter'?: number;
  readonly 'Rows Removed by Join Filter'?: number;
  readonly 'Rows Removed by Index Recheck'?: number;
  readonly 'Shared Hit Blocks': number;
  readonly 'Shared Read Blocks': number;
  readonly 'Index Name'?: string;
  readonly 'Index Cond'?: string;
  readonly Plans?: readonly Plan[];
}

/**
 * Returns the rows that all steps of a plan returned or discarded, plus the pages read, including those of functions.
 */
const costOf = (plan: Plan): number => {
  const rows = (node: Plan): number =>
    node['Actual Loops'] *
      (node['Actual Rows'] +
        (node['Rows Removed by Filter'] ?? 0) +
        (node['Rows Removed by Join Filter'] ?? 0) +
        (node['Rows Removed by Index Recheck'] ?? 0)) +
    (node.Plans ?? []).reduce((sum, part) => sum + rows(part), 0);
  return rows(plan) + plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
};

/** The columns of each index by its name, in the notation of index conditions. */
type Indexes = ReadonlyMap<string, readonly string[]>;

const readIndexes = async (connection: PoolClient): Promise<Indexes> => {
  const { rows } = await connection.query<{ name: string; columns: string[] }>(`
    select c.relname as name,
      array(select pg_get_indexdef(c.oid, k, true) from generate_series(1, i.indnkeyatts) k) as columns
    from pg_index i join pg_class c on c.oid = i.indexrelid join pg_namespace n on n.oid = c.relnamespace
    where n.nspname in ('read', 'service', 'log')`);
  return new Map(rows.map(({ name, columns }) => [name, columns]));
};

const words = (text: string): string[] => text.match(/[a-z_]\w*/g) ?? [];

/**
 * Returns the index searches that skip a column of the index: the condition has a column, but not the column before it.
 * Such a search reads all entries with the same leading columns. The planner may underestimate its cost, above all
 * without statistics of the table.
 */
const gapsOf = (plan: Plan, indexes: Indexes): string[] => {
  const { 'Index Name': index, 'Index Cond': condition, Plans = [] } = plan;
  const gaps = Plans.flatMap((part) => gapsOf(part, indexes));
  const columns = indexes.get(index ?? '');
  // Indexes of the PostgreSQL catalogs are not checked.
  if (columns === undefined || condition === undefined) return gaps;
  const conditionWords = words(condition.replaceAll(/\w+\.\w+|'[^']*'/g, ''));
  const isInCondition = columns.map((column) => words(column).every((word) => conditionWords.includes(word)));
  const hasNoGap =
    isInCondition.lastIndexOf(true) <
    (isInCondition.includes(false) ? isInCondition.indexOf(false) : isInCondition.length);
  return hasNoGap ? gaps : [...gaps, `${index}: ${condition}`];
};

const literal = (value: unknown, type: string): string => {
  const text = Array.isArray(value)
    ? `{${value.map((one) => (one === null ? 'null' : JSON.stringify(String(one)))).join(',')}}`
    : String(value);
  return `'${text.replaceAll("'", "''")}'::${type}`;
};

interface Explained {
  readonly name: string;
  readonly text: string;
  readonly isOfProjector: boolean;
}

const RAW = await rawStatements();
const ALL: readonly Explained[] = RAW.map(({ path, statement: { name, text } }) => ({
  name,
  text,
  isOfProjector: path.startsWith('projections/'),
}));

/** The statistics of the planner: current, or those of empty tables, as before the first autovacuum. */
const STATISTICS_KINDS = ['empty', 'current'] as const;
type Statistics = (typeof STATISTICS_KINDS)[number];

/** A case of a statement: its batch has stored or new rows, and the planner has current statistics or none. */
interface Case {
  readonly rows: 'known' | 'new';
  /** The number of the first row of the batch. */
  readonly first: number;
  readonly statistics: Statistics;
  readonly isGeneric: boolean;
}

/** Statements that subtract from stored rows, and so are tested only with stored rows. */
const KNOWN_ONLY = new Set(['metrics-take-from-days', 'metrics-take-from-type_days']);

/** Ends the transaction without its changes. */
class RolledBack extends Error {}

describe('A statement', () => {
  const databases = new Map<string, TestDatabase>();
  const databaseOf = (n: number, statistics: Statistics): TestDatabase => databases.get(`${n} ${statistics}`)!;

  beforeAll(async () => {
    for (const n of [0, FEW, MANY])
      for (const statistics of STATISTICS_KINDS) {
        const database = await createDatabase();
        databases.set(`${n} ${statistics}`, database);
        await migrate(database.pool, 'log', LOG_MIGRATIONS);
        await database.pool.query('analyze');
        if (n > 0) for (const statement of tables(n).split(';')) await database.pool.query(statement);
        if (statistics === 'current') await database.pool.query('analyze');
      }
  });

  afterAll(() => Promise.all([...databases.values()].map((database) => database.drop())));

  /** The types of the parameters of each statement, according to PostgreSQL. */
  const typesOf = new Map<string, readonly string[]>();
  const readTypes = async (connection: PoolClient, name: string): Promise<readonly string[]> => {
    const { rows } = await connection.query<{ types: string[] }>(
      'select parameter_types::text[] as types from pg_prepared_statements where name = $1',
      [name],
    );
    return rows[0]!.types;
  };

  const explain = async (
    connection: PoolClient,
    { name, text }: Explained,
    values: readonly unknown[],
  ): Promise<Plan> => {
    await connection.query(`prepare "${name}" as ${text}`);
    try {
      const types = typesOf.get(name) ?? (await readTypes(connection, name));
      typesOf.set(name, types);
      expect(values).toHaveLength(types.length);
      const sent = values.map((value, index) => literal(value, types[index]!)).join(', ');
      const response = await connection.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `explain (analyze, buffers, format json) execute "${name}"${sent === '' ? '' : `(${sent})`}`,
      );
      return response.rows[0]!['QUERY PLAN'][0].Plan;
    } finally {
      await connection.query(`deallocate "${name}"`).catch(() => {});
    }
  };

  /** Explains a statement as the service runs it, and rolls it back. */
  const planOf = async (
    one: Explained,
    { n, stored = n, first, statistics, isGeneric }: Case & { readonly n: number; readonly stored?: number },
  ): Promise<Plan> => {
    const { pool } = databaseOf(stored, statistics);
    const batch: Batch = (element) => Array.from({ length: n }, (_, i) => element(first + i));
    const values = VALUES[one.name]!(batch, n);
    let plan: Plan | undefined;
    const run = async (connection: PoolClient): Promise<never> => {
      plan = await explain(connection, one, values);
      throw new RolledBack();
    };
    const asRequest = async (): Promise<never> => {
      const connection = await pool.connect();
      try {
        const settings = USES_RECORDS_SETTINGS.test(one.name)
          ? Object.entries(INDEX_ORDER_SETTINGS)
              .map(([setting, value]) => `set local ${setting} = ${value}; `)
              .join('')
          : '';
        await connection.query(
          `begin; ${settings}set local plan_cache_mode = force_${isGeneric ? 'generic' : 'custom'}_plan`,
        );
        return await run(connection);
      } finally {
        await connection.query('rollback');
        connection.release();
      }
    };
    const running = one.isOfProjector
      ? transact(pool, 'read', ({ connection }) => run(connection), { statementMs: 60_000 })
      : asRequest();
    await running.catch((error: unknown) => {
      if (!(error instanceof RolledBack)) throw error;
    });
    return plan!;
  };

  const casesOf = ({ name, isOfProjector }: Explained): Case[] => {
    const cases = [
      ['known', 1],
      ['new', 1 + MAX_ROWS],
    ] as const;
    const batches = KNOWN_ONLY.has(name) ? cases.slice(0, 1) : cases;
    const plans = isOfProjector ? [false] : [false, true];
    return batches.flatMap(([rows, first]) =>
      STATISTICS_KINDS.flatMap((statistics) => plans.map((isGeneric) => ({ rows, first, statistics, isGeneric }))),
    );
  };

  it.each(ALL)(
    'costs at most about ten times as much with ten times the rows: $name',
    async (one) => {
      for (const testCase of casesOf(one)) {
        const few = costOf(await planOf(one, { n: FEW, ...testCase }));
        const many = costOf(await planOf(one, { n: MANY, ...testCase }));
        const isLinear = many <= maxCost(few, MANY / FEW);
        expect({ ...testCase, few, many, isLinear }).toMatchObject({ isLinear: true });
      }
    },
    60_000,
  );

  it.each(ALL)(
    'searches indexes only by leading columns: $name',
    async (one) => {
      const { pool } = databaseOf(FEW, 'current');
      const connection = await pool.connect();
      const indexes = await readIndexes(connection);
      connection.release();
      for (const testCase of casesOf(one))
        for (const stored of KNOWN_ONLY.has(one.name) ? [MANY] : [0, MANY])
          expect(gapsOf(await planOf(one, { n: FEW, stored, ...testCase }), indexes)).toEqual([]);
    },
    60_000,
  );

  it.each(RAW.filter(({ statement }) => Object.keys(statement.columns).length > 0))(
    'returns no null in columns that are not declared nullable: $statement.name',
    async ({ path, statement }) => {
      const { pool } = databaseOf(FEW, 'current');
      const batch: Batch = (element) => Array.from({ length: FEW }, (_, i) => element(1 + i));
      const connection = await pool.connect();
      try {
        await connection.query(`begin${path.startsWith('projections/') ? '; set local search_path = read' : ''}`);
        const { rows } = await connection.query<Record<string, unknown>>(statement.text, [
          ...VALUES[statement.name]!(batch, FEW),
        ]);
        expect(unexpectedNulls(statement, rows)).toEqual([]);
      } finally {
        await connection.query('rollback');
        connection.release();
      }
    },
  );

  it('exceeds the limit if it joins stored rows with new rows in a nested loop', async () => {
    // Members of groups were once counted like this: the new rows are joined with the stored rows.
    const text = `
      with incoming as materialized (
        select * from unnest($1::text[], $2::text[]) i (organization, asset)
      ), old as materialized (
        select a.organization, a.asset from incoming i join grouped_assets a using (organization, asset)
      )
      select o.asset from old o join incoming i using (organization, asset)`;
    const one: Explained = { name: 'quadratic', text, isOfProjector: true };
    const cost = async (n: number): Promise<number> => {
      let plan: Plan | undefined;
      const batch: Batch = (element) => Array.from({ length: n }, (_, i) => element(1 + i));
      await transact(databaseOf(MANY, 'empty').pool, 'read', async ({ connection }) => {
        plan = await explain(connection, one, [batch(() => 'acme'), batch(hash)]);
      });
      return costOf(plan!);
    };
    expect(await cost(4 * FEW)).toBeGreaterThan(maxCost(await cost(FEW), 4));
  });
});

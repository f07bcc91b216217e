import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { PoolClient } from 'pg';
import { transact } from '../../projections/engine/transaction.js';
import { LOG_MIGRATIONS } from '../../src/event-log/postgres/schema.js';
import { migrate } from '../../src/postgres/migrator.js';
import { createDatabase, type TestDatabase } from '../../test/support/postgres.js';
import { INDEX_ORDER_SETTINGS } from '../../src/read-models/pools.js';
import { rawStatements, unexpectedNulls } from '../../test/read-models/every-statement.js';
import { type Batch, hash, MOST, tables, VALUES } from './values.js';

/** Rows of each table and elements of each array: ten times as many may cost about ten times as much. */
const FEW = 300;
const MANY = 3_000;
/** A tree that has grown by a level, pages that are not full: not every cost is an exact multiple. */
const TOLERANCE = 2;
/** What a statement may cost whatever it is asked, in rows and pages. */
const FREE = 2_000;

const mostFor = (few: number, times: number): number => FREE + TOLERANCE * few * times;

/** On the connections of lists and the feed, which have settings of their own. */
const ON_RECORDS = /^(?:records-(?:list|next|count|find)|feed-next|webhooks-progress)/;

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

/** Rows that any step of a plan returned or threw away, and pages that were read, those of called functions included. */
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

/** The columns of each index, as conditions name them. */
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
 * Searches of an index by a column behind one that is not asked for. To the planner that may cost as little as another
 * index, above all while it knows nothing of the table; it reads all that begins with the columns before.
 */
const gapsOf = (plan: Plan, indexes: Indexes): string[] => {
  const { 'Index Name': index, 'Index Cond': condition, Plans = [] } = plan;
  const gaps = Plans.flatMap((part) => gapsOf(part, indexes));
  const columns = indexes.get(index ?? '');
  // PostgreSQL's own catalogs are its own affair.
  if (columns === undefined || condition === undefined) return gaps;
  const own = words(condition.replaceAll(/\w+\.\w+|'[^']*'/g, ''));
  const isAsked = columns.map((column) => words(column).every((word) => own.includes(word)));
  const isWhole = isAsked.lastIndexOf(true) < (isAsked.includes(false) ? isAsked.indexOf(false) : isAsked.length);
  return isWhole ? gaps : [...gaps, `${index}: ${condition}`];
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

/** What the planner knows: the tables as they are, or that they are empty, as until the first autovacuum. */
const STATISTICS = ['empty', 'current'] as const;
type Statistics = (typeof STATISTICS)[number];

/** A batch of rows that are stored already, or of new ones, and what is known when it is planned. */
interface Way {
  readonly which: 'known' | 'new';
  readonly first: number;
  readonly known: Statistics;
  readonly isGeneric: boolean;
}

/** What is subtracted must be there. */
const KNOWN_ONLY = new Set(['metrics-take-from-days', 'metrics-take-from-type_days']);

/** Ends the transaction without its changes. */
class RolledBack extends Error {}

describe('Ten times the rows', () => {
  const databases = new Map<string, TestDatabase>();
  const databaseOf = (n: number, known: Statistics): TestDatabase => databases.get(`${n} ${known}`)!;

  beforeAll(async () => {
    for (const n of [0, FEW, MANY])
      for (const known of STATISTICS) {
        const database = await createDatabase();
        databases.set(`${n} ${known}`, database);
        await migrate(database.pool, 'log', LOG_MIGRATIONS);
        await database.pool.query('analyze');
        if (n > 0) for (const statement of tables(n).split(';')) await database.pool.query(statement);
        if (known === 'current') await database.pool.query('analyze');
      }
  });

  afterAll(() => Promise.all([...databases.values()].map((database) => database.drop())));

  /** Of the parameters of each statement, as PostgreSQL takes them. */
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
      const answer = await connection.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
        `explain (analyze, buffers, format json) execute "${name}"${sent === '' ? '' : `(${sent})`}`,
      );
      return answer.rows[0]!['QUERY PLAN'][0].Plan;
    } finally {
      await connection.query(`deallocate "${name}"`).catch(() => {});
    }
  };

  /** Runs it as the service does, and undoes what it did. */
  const planOf = async (
    one: Explained,
    { n, stored = n, first, known, isGeneric }: Way & { readonly n: number; readonly stored?: number },
  ): Promise<Plan> => {
    const { pool } = databaseOf(stored, known);
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
        const settings = ON_RECORDS.test(one.name)
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

  const waysOf = ({ name, isOfProjector }: Explained): Way[] => {
    const cases = [
      ['known', 1],
      ['new', 1 + MOST],
    ] as const;
    const batches = KNOWN_ONLY.has(name) ? cases.slice(0, 1) : cases;
    const plans = isOfProjector ? [false] : [false, true];
    return batches.flatMap(([which, first]) =>
      STATISTICS.flatMap((known) => plans.map((isGeneric) => ({ which, first, known, isGeneric }))),
    );
  };

  it.each(ALL)(
    'cost $name no more than about ten times as much',
    async (one) => {
      for (const way of waysOf(one)) {
        const few = costOf(await planOf(one, { n: FEW, ...way }));
        const many = costOf(await planOf(one, { n: MANY, ...way }));
        const isLinear = many <= mostFor(few, MANY / FEW);
        expect({ ...way, few, many, isLinear }).toMatchObject({ isLinear: true });
      }
    },
    60_000,
  );

  it.each(ALL)(
    'let $name search no index by a column behind one that it does not ask for',
    async (one) => {
      const { pool } = databaseOf(FEW, 'current');
      const connection = await pool.connect();
      const indexes = await readIndexes(connection);
      connection.release();
      for (const way of waysOf(one))
        for (const stored of KNOWN_ONLY.has(one.name) ? [MANY] : [0, MANY])
          expect(gapsOf(await planOf(one, { n: FEW, stored, ...way }), indexes)).toEqual([]);
    },
    60_000,
  );

  it.each(RAW.filter(({ statement }) => Object.keys(statement.columns).length > 0))(
    'give $statement.name no null if none is declared',
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

  it('are more than a nested loop over what was stored and what was read can bear', async () => {
    // As the members of groups were once counted: the new rows joined with the old ones.
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
    expect(await cost(4 * FEW)).toBeGreaterThan(mostFor(await cost(FEW), 4));
  });
});

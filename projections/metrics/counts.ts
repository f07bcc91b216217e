import type { QueryConfig } from 'pg';
import { type Fact, MEASURE } from '../../src/events/facts.js';
import { dayOf } from '../../src/events/instant.js';
import { statement } from '../../src/postgres/statement.js';

type ArrayType = 'text[]' | 'smallint[]' | 'integer[]';

/**
 * Creates the statements that add to a table of counts and subtract from it. Adding is an upsert, which always uses the
 * primary key. Subtracting is a merge: an upsert would propose a row with a negative count, which the table's
 * constraint `check (n >= 0)` rejects even if the key exists. Subtracting from a missing row inserts a negative count,
 * which the constraint rejects.
 */
const countStatements = <const Key extends Readonly<Record<string, ArrayType>>>(table: string, key: Key) => {
  const columns = Object.keys(key);
  const parameters = { ...key, n: 'bigint[]' } as const;
  const arrays = columns.map((column) => `:${column}`).join(', ');
  const rows = `unnest(${arrays}, :n) s (${columns.join(', ')}, n)`;
  return {
    add: statement(
      `metrics-add-to-${table}`,
      parameters,
      `
        insert into ${table} as t (${columns.join(', ')}, n) select * from ${rows}
        on conflict (${columns.join(', ')}) do update set n = t.n + excluded.n`,
    ),
    subtract: statement(
      `metrics-take-from-${table}`,
      parameters,
      `
        merge into ${table} t using ${rows} on ${columns.map((column) => `t.${column} = s.${column}`).join(' and ')}
        when matched and t.n = s.n then delete
        when matched then update set n = t.n - s.n
        when not matched then insert (${columns.join(', ')}, n)
          values (${columns.map((column) => `s.${column}`).join(', ')}, -s.n)`,
    ),
  };
};

const OWNER = { organization: 'text[]', brand: 'text[]' } as const;
export const DAY_COUNTS = countStatements('days', { ...OWNER, measure: 'smallint[]', day: 'integer[]' });
export const TYPE_DAY_COUNTS = countStatements('type_days', { ...OWNER, day: 'integer[]', type: 'text[]' });

interface DayKey {
  readonly organization: string;
  readonly brand: string;
  /** Days since 1970, UTC. */
  readonly day: number;
}

/** Changes of one table of counts, summed by key, so that each row is updated at most once per batch. */
class TableChanges<Key extends DayKey> {
  private readonly changes = new Map<string, Key & { n: number }>();

  constructor(
    private readonly table: Readonly<
      Record<'add' | 'subtract', { queryEach(rows: readonly (Key & { n: number })[]): QueryConfig }>
    >,
  ) {}

  add(key: Key, n: number): void {
    const text = Object.values(key).join('\n');
    const change = this.changes.get(text);
    if (change) change.n += n;
    else this.changes.set(text, { ...key, n });
  }

  /** Yields the statements that apply the changes. Rows are sorted by key, so that two writers cannot deadlock. */
  *statements(): Generator<QueryConfig> {
    const changes = [...this.changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
    const increases = changes.filter(({ n }) => n > 0);
    if (increases.length > 0) yield this.table.add.queryEach(increases);
    const decreases = changes.filter(({ n }) => n < 0);
    if (decreases.length > 0)
      yield this.table.subtract.queryEach(decreases.map((change) => ({ ...change, n: -change.n })));
  }
}

/** The changes of a batch to all tables of counts. */
export class CountChanges {
  private readonly days = new TableChanges<DayKey & { measure: number }>(DAY_COUNTS);
  private readonly typeDays = new TableChanges<DayKey & { type: string }>(TYPE_DAY_COUNTS);

  add(facts: readonly Fact[], n: number): void {
    for (const [organization, brand, at, measure, type] of facts) {
      const day = dayOf(at);
      this.days.add({ organization, brand, measure, day }, n);
      if (measure === MEASURE.threat) this.typeDays.add({ organization, brand, day, type }, n);
    }
  }

  *statements(): Generator<QueryConfig> {
    yield* this.days.statements();
    yield* this.typeDays.statements();
  }
}

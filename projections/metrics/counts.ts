import type { QueryConfig } from 'pg';
import { dayOf } from '../../src/events/instant.js';
import { MEASURE } from '../../src/events/measure.js';
import { columnArray, numberArray } from '../../src/postgres/columns.js';
import type { Fact } from '../../src/events/facts.js';
import { DAY_COUNTS, TYPE_DAY_COUNTS } from './statements.js';

/** A change of one count by `n`. */
interface CountChange {
  readonly key: readonly (string | number)[];
  n: number;
}

/** Changes of one table of counts, summed by key, so that each row is updated at most once per batch. */
class TableChanges<Values> {
  private readonly changes = new Map<string, CountChange>();

  constructor(
    private readonly table: Readonly<Record<'add' | 'subtract', { query(values: Values): QueryConfig }>>,
    /**
     * Builds the parameters of a statement from the columns of the key and the column of numbers, each a PostgreSQL
     * array literal.
     */
    private readonly valuesOf: (key: readonly string[], n: string) => Values,
  ) {}

  add(key: readonly (string | number)[], n: number): void {
    const text = key.join('\n');
    const change = this.changes.get(text);
    if (change) change.n += n;
    else this.changes.set(text, { key, n });
  }

  /** Yields the statements that apply the changes. Rows are sorted by key, so that two writers cannot deadlock. */
  *statements(): Generator<QueryConfig> {
    const changes = [...this.changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
    const increases = changes.filter(({ n }) => n > 0);
    if (increases.length > 0) yield this.table.add.query(this.valuesFor(increases));
    const decreases = changes.filter(({ n }) => n < 0);
    if (decreases.length > 0) yield this.table.subtract.query(this.valuesFor(decreases));
  }

  private valuesFor(changes: readonly CountChange[]): Values {
    const key = changes[0]!.key.map((_, column) => columnArray(changes.map((change) => change.key[column]!)));
    return this.valuesOf(key, numberArray(changes.map(({ n }) => Math.abs(n))));
  }
}

/** The changes of a batch to all tables of counts. */
export class CountChanges {
  private readonly days = new TableChanges(DAY_COUNTS, ([organization, brand, measure, day], n) => ({
    organization: organization!,
    brand: brand!,
    measure: measure!,
    day: day!,
    n,
  }));
  private readonly typeDays = new TableChanges(TYPE_DAY_COUNTS, ([organization, brand, day, type], n) => ({
    organization: organization!,
    brand: brand!,
    day: day!,
    type: type!,
    n,
  }));

  add(facts: readonly Fact[], n: number): void {
    for (const [organization, brand, at, measure, type] of facts) {
      const day = dayOf(at);
      this.days.add([organization, brand, measure, day], n);
      if (measure === MEASURE.threat) this.typeDays.add([organization, brand, day, type], n);
    }
  }

  *statements(): Generator<QueryConfig> {
    yield* this.days.statements();
    yield* this.typeDays.statements();
  }
}

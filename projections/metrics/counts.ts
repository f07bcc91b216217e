import type { QueryConfig } from 'pg';
import { dayOf } from '../../src/events/instant.js';
import { MEASURE } from '../../src/events/measure.js';
import { columnArray, numberArray } from '../../src/postgres/columns.js';
import type { Fact } from '../../src/events/facts.js';
import { DAYS, TYPE_DAYS } from './statements.js';

interface Cell {
  readonly key: readonly (string | number)[];
  n: number;
}

/** Changes of one table of counts, summed by key, so that each row is updated at most once per batch. */
class TableChanges<Values> {
  private readonly cells = new Map<string, Cell>();

  constructor(
    private readonly table: Readonly<Record<'add' | 'subtract', { query(values: Values): QueryConfig }>>,
    /** Returns the parameters of a statement for the columns of the key and the numbers. */
    private readonly valuesOf: (key: readonly string[], n: string) => Values,
  ) {}

  add(key: readonly (string | number)[], n: number): void {
    const text = key.join('\n');
    const cell = this.cells.get(text);
    if (cell) cell.n += n;
    else this.cells.set(text, { key, n });
  }

  /** Rows are sorted by key, so that two writers cannot deadlock. */
  *statements(): Generator<QueryConfig> {
    const cells = [...this.cells].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cell]) => cell);
    const increases = cells.filter(({ n }) => n > 0);
    if (increases.length > 0) yield this.table.add.query(this.valuesFor(increases));
    const decreases = cells.filter(({ n }) => n < 0);
    if (decreases.length > 0) yield this.table.subtract.query(this.valuesFor(decreases));
  }

  private valuesFor(cells: readonly Cell[]): Values {
    const key = cells[0]!.key.map((_, column) => columnArray(cells.map((cell) => cell.key[column]!)));
    return this.valuesOf(key, numberArray(cells.map(({ n }) => Math.abs(n))));
  }
}

/** The changes of a batch to all tables of counts. */
export class CountChanges {
  private readonly days = new TableChanges(DAYS, ([organization, brand, measure, day], n) => ({
    organization: organization!,
    brand: brand!,
    measure: measure!,
    day: day!,
    n,
  }));
  private readonly typeDays = new TableChanges(TYPE_DAYS, ([organization, brand, day, type], n) => ({
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

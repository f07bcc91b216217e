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

/** Count differences, netted by key, so that a busy day's row is touched once per batch. */
class Differences<Values> {
  private readonly cells = new Map<string, Cell>();

  constructor(
    private readonly table: Readonly<Record<'add' | 'take', { query(values: Values): QueryConfig }>>,
    /** The statements' parameters: the key's columns and the numbers. */
    private readonly valuesOf: (key: readonly string[], n: string) => Values,
  ) {}

  add(key: readonly (string | number)[], n: number): void {
    const text = key.join('\n');
    const cell = this.cells.get(text);
    if (cell) cell.n += n;
    else this.cells.set(text, { key, n });
  }

  /** Sorted by key, so that two writers cannot deadlock. */
  *statements(): Generator<QueryConfig> {
    const cells = [...this.cells].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, cell]) => cell);
    const more = cells.filter(({ n }) => n > 0);
    if (more.length > 0) yield this.table.add.query(this.valuesFor(more));
    const fewer = cells.filter(({ n }) => n < 0);
    if (fewer.length > 0) yield this.table.take.query(this.valuesFor(fewer));
  }

  private valuesFor(cells: readonly Cell[]): Values {
    const key = cells[0]!.key.map((_, column) => columnArray(cells.map((cell) => cell.key[column]!)));
    return this.valuesOf(key, numberArray(cells.map(({ n }) => Math.abs(n))));
  }
}

/** A batch's changes to all counts of facts. */
export class CountDifferences {
  private readonly days = new Differences(DAYS, ([organization, brand, measure, day], n) => ({
    organization: organization!,
    brand: brand!,
    measure: measure!,
    day: day!,
    n,
  }));
  private readonly typeDays = new Differences(TYPE_DAYS, ([organization, brand, day, type], n) => ({
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

  /** In execution order. */
  *statements(): Generator<QueryConfig> {
    yield* this.days.statements();
    yield* this.typeDays.statements();
  }
}

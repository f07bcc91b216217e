import type { QueryConfig } from 'pg';
import { Statement } from '../../postgres/statement.js';
import type { Selection } from '../selection.js';

/** Where a page begins, and how many rows it may have. */
export interface PageRequest {
  /** The last key of the previous page: the negated instant (ms) and the id. */
  readonly after: readonly [newest: number, id: string];
  /**
   * The position of the log when the first page was read. Later changes are not shown. Null: this is the first page.
   */
  readonly upTo: number | null;
  /** Maximum number of rows. Callers request one row more than they show, to know whether there is another page. */
  readonly limit: number;
}

type SqlType = 'text' | 'text[]' | 'uuid' | 'bigint' | 'integer' | 'smallint';

/** Builds a statement and collects its parameters. */
export class StatementBuilder {
  readonly values: unknown[] = [];
  private readonly types: Record<string, SqlType> = {};

  add(value: unknown, type: SqlType): string {
    const number = this.values.push(value);
    this.types[`p${number}`] = type;
    return `$${number}::${type}`;
  }

  query(name: string | undefined, text: string): QueryConfig {
    return { ...(name !== undefined && { name }), text, values: this.values };
  }

  /** Returns the statement with declared parameters and columns. */
  declare<Columns extends Statement['columns']>(name: string, text: string, columns: Columns): Statement {
    return new Statement(name, this.types, columns, text);
  }
}

/** Returns a branch of equalities for each combination of the requested values; without filters, one empty branch. */
export const branchesOf = ({
  statuses,
  types,
  asset,
}: Selection): readonly (readonly [column: string, value: string][])[] => {
  if (asset !== undefined) return [[['asset', asset.hash]]];
  const ofStatus = statuses?.map((status) => [['status', status] as [string, string]]) ?? [[]];
  const ofType = types?.map((type) => [['type', type] as [string, string]]) ?? [[]];
  return ofStatus.flatMap((status) => ofType.map((type) => [...status, ...type]));
};

/** Builds the query for the keys of a selection in order. Each branch reads a slice of an index. */
export const keysOf = (builder: StatementBuilder, selection: Selection, { after }: PageRequest): string => {
  const { organization, kind, brand, range } = selection;
  const [table, at] = brand === undefined ? ['listed_records', '(-created_at)'] : ['brand_records', '(-at)'];
  const common = [
    `organization = ${builder.add(organization, 'text')}`,
    `kind = ${builder.add(kind, 'smallint')}`,
    `(${at}, id) > (${builder.add(after[0], 'bigint')}, ${builder.add(after[1], 'text')})`,
    `${at} <= ${builder.add(-range.from, 'bigint')}`,
    brand === undefined ? 'created_at is not null' : `brand = ${builder.add(brand, 'text')}`,
  ].join(' and ');
  const branches = branchesOf(selection).map((equal) => {
    const rowFilters = equal.map(
      ([column, value]) => ` and ${column} = ${builder.add(value, column === 'asset' ? 'uuid' : 'text')}`,
    );
    const columns = brand === undefined ? 'id, position, status, type, item' : 'id';
    return `select ${at} as newest, ${columns} from read.${table} where ${common}${rowFilters.join('')} order by newest, id`;
  });
  // Each branch is ordered. Otherwise the planner would read all rows and sort them.
  return `select * from (${branches.map((branch) => `(${branch})`).join(' union all ')}) keys order by newest, id`;
};

/** An asset has few records, so further filters are applied row by row. */
export const rowFiltersOf = (builder: StatementBuilder, { statuses, types, asset }: Selection): string[] => {
  if (asset === undefined) return [];
  const rowFilters = [`type = ${builder.add(asset.type, 'text')}`];
  if (types !== undefined) rowFilters.push(`type = any(${builder.add(types, 'text[]')})`);
  if (statuses !== undefined) rowFilters.push(`status = any(${builder.add(statuses, 'text[]')})`);
  return rowFilters;
};

import type { QueryConfig } from 'pg';
import { Statement } from '../../postgres/statement.js';
import type { Selection } from '../selection.js';

/** Where a page begins, and what it may hold. */
export interface PageRequest {
  /** The key before it: the negated instant (ms) and the id. */
  readonly after: readonly [newest: number, id: string];
  /** The log's position as of the first page: what changed later is not shown. Null: this is the first page. */
  readonly upTo: number | null;
  /** Rows; one more than are shown says whether there is another page. */
  readonly limit: number;
}

type SqlType = 'text' | 'text[]' | 'uuid' | 'bigint' | 'integer' | 'smallint';

/** A statement that is written as its values are known. */
export class Draft {
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

  /** With its parameters and columns declared. */
  declare<Columns extends Statement['columns']>(name: string, text: string, columns: Columns): Statement {
    return new Statement(name, this.types, columns, text);
  }
}

/** An equality for each branch: all combinations of the values asked for. None: one branch without any. */
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

/** The keys of a selection in order, from a slice of an index for each combination of values. */
export const keysOf = (draft: Draft, selection: Selection, { after }: PageRequest): string => {
  const { organization, kind, brand, range } = selection;
  const [table, at] = brand === undefined ? ['listed_records', '(-created_at)'] : ['brand_records', '(-at)'];
  const owned = [
    `organization = ${draft.add(organization, 'text')}`,
    `kind = ${draft.add(kind, 'smallint')}`,
    `(${at}, id) > (${draft.add(after[0], 'bigint')}, ${draft.add(after[1], 'text')})`,
    `${at} <= ${draft.add(-range.from, 'bigint')}`,
    brand === undefined ? 'created_at is not null' : `brand = ${draft.add(brand, 'text')}`,
  ].join(' and ');
  const branches = branchesOf(selection).map((equal) => {
    const tests = equal.map(
      ([column, value]) => ` and ${column} = ${draft.add(value, column === 'asset' ? 'uuid' : 'text')}`,
    );
    const columns = brand === undefined ? 'id, position, status, type, item' : 'id';
    return `select ${at} as newest, ${columns} from read.${table} where ${owned}${tests.join('')} order by newest, id`;
  });
  // In order each, or the planner would read them whole and sort them.
  return `select * from (${branches.map((branch) => `(${branch})`).join(' union all ')}) keys order by newest, id`;
};

/** Few records are of one asset, so what else is asked of them is looked at one by one. */
export const testsOf = (draft: Draft, { statuses, types, asset }: Selection): string[] => {
  if (asset === undefined) return [];
  const tests = [`type = ${draft.add(asset.type, 'text')}`];
  if (types !== undefined) tests.push(`type = any(${draft.add(types, 'text[]')})`);
  if (statuses !== undefined) tests.push(`status = any(${draft.add(statuses, 'text[]')})`);
  return tests;
};

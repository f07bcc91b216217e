import type { QueryConfig } from 'pg';
import { Statement, json, nullable } from '../postgres/statement.js';
import type { Selection } from './selection.js';
import { EARLIEST, LATEST } from '../events/instant.js';
import { SELECT_MOMENT, type ItemRow, MOMENT_COLUMNS } from './record-queries.js';
import { limit } from '../limits.js';

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

/** Builds a statement about records of one kind, and collects its parameters. */
class StatementBuilder {
  readonly values: unknown[] = [];
  private readonly types: Record<string, SqlType> = {};
  readonly organization: string;
  readonly kind: string;

  constructor({ organization, kind }: Pick<Selection, 'organization' | 'kind'>) {
    this.organization = this.add(organization, 'text');
    this.kind = this.add(kind, 'smallint');
  }

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
const branchesOf = ({ statuses, types, asset }: Selection): readonly (readonly [column: string, value: string][])[] => {
  if (asset !== undefined) return [[['asset', asset.hash]]];
  const ofStatus = statuses?.map((status) => [['status', status] as [string, string]]) ?? [[]];
  const ofType = types?.map((type) => [['type', type] as [string, string]]) ?? [[]];
  return ofStatus.flatMap((status) => ofType.map((type) => [...status, ...type]));
};

/** Builds the query for the keys of a selection in order. Each branch reads a slice of an index. */
const keysOf = (builder: StatementBuilder, selection: Selection, { after }: PageRequest): string => {
  const { brand, range } = selection;
  const [table, at] = brand === undefined ? ['listed_records', '(-created_at)'] : ['brand_records', '(-at)'];
  const common = [
    `organization = ${builder.organization}`,
    `kind = ${builder.kind}`,
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
const rowFiltersOf = (builder: StatementBuilder, { statuses, types, asset }: Selection): string[] => {
  if (asset === undefined) return [];
  // A link is reported as a URL, whatever it leads to.
  const rowFilters = [`type = any(${builder.add([asset.type, 'URL'], 'text[]')})`];
  if (types !== undefined) rowFilters.push(`type = any(${builder.add(types, 'text[]')})`);
  if (statuses !== undefined) rowFilters.push(`status = any(${builder.add(statuses, 'text[]')})`);
  return rowFilters;
};

/** Maximum size of the items of a page. A single item may be larger. */
const MAX_PAGE_BYTES = limit('page of a list', 1024 * 1024, 'bytes', 'request', 'the page is shorter');
/** Maximum number of keys that a page examines if a filter excludes some of them. */
const MAX_EXAMINED = limit('page of a list', 20_000, 'keys examined', 'request', 'the page is shorter');
/** Statements with more branches are not prepared, because each connection would keep the plans of these statements. */
const MAX_PREPARED_BRANCHES = 12;

interface Moment {
  readonly asOf: number | null;
  readonly upTo: number | null;
  /**
   * The last examined key, from which the next page continues. Null: the next page continues from the last row, or no
   * page follows.
   */
  readonly lastExamined: readonly [newest: number, id: string] | null;
}

/** A row of a page. If no record was found, there is one row with the id null. */
export type ListedRow = Moment &
  (
    | { readonly id: null }
    | (ItemRow & {
        /** The instant by which the record is listed, in ms and negated, so that ascending order is newest first. */
        readonly newest: number;
        /** Number of rows before the page was limited to its maximum size. */
        readonly found: number;
      })
  );

/** Reads an item by key. The comparison and the order make PostgreSQL scan the primary key, as in `READ_VERDICTS`. */
const joinItem = ({ organization, kind }: StatementBuilder): string => `cross join lateral (
            select organization as of_organization, kind as of_kind, id as of_id, position, status, type, item
            from read.listed_records
            where (organization, kind, id) >= (${organization}, ${kind}, examined.id)
            order by organization, kind, id limit 1
          ) item`;
const itemMatchesKey = ({ organization, kind }: StatementBuilder): string =>
  `of_organization = ${organization} and of_kind = ${kind} and of_id = examined.id`;

const statementName = (purpose: 'list' | 'next' | 'count', selection: Selection): string | undefined => {
  const { brand, statuses, types, asset } = selection;
  const branches = branchesOf(selection).length;
  const filterCode = `${asset === undefined ? '' : 'a'}${statuses ? 's' : ''}${types ? 't' : ''}${branches}`;
  const name = `records-${purpose}-${brand === undefined ? 'all' : 'brand'}-${filterCode}`;
  return branches > MAX_PREPARED_BRANCHES ? undefined : name;
};

const pageStatementName = (selection: Selection, { upTo }: PageRequest): string | undefined =>
  statementName(upTo === null ? 'list' : 'next', selection);

const LISTED_COLUMNS = {
  ...MOMENT_COLUMNS,
  lastExamined: nullable(json<NonNullable<Moment['lastExamined']>>()),
  newest: nullable('bigint'),
  id: nullable('text'),
  item: nullable('text'),
  found: nullable('bigint'),
} as const;

const buildPage = (builder: StatementBuilder, selection: Selection, page: PageRequest): string => {
  const examined = `(${keysOf(builder, selection, page)} limit ${MAX_EXAMINED}) examined`;
  const limit = builder.add(page.limit, 'integer');
  const rowFilters = rowFiltersOf(builder, selection);
  if (page.upTo !== null) rowFilters.unshift(`position <= ${builder.add(page.upTo, 'bigint')}`);
  const isFiltered = rowFilters.length > 0;
  if (selection.brand !== undefined) rowFilters.unshift(itemMatchesKey(builder));
  // The last key is read in the same statement. In another snapshot, the last key could be a key that was not examined.
  const last = `case when coalesce(p.found, 0) < ${limit} then
        (select json_build_array(newest, id) from ${examined} offset ${MAX_EXAMINED - 1}) end`;
  return `
    select c."asOf", c."upTo", ${isFiltered ? last : 'null::json'} as "lastExamined", p.newest, p.id, p.item, p.found
    from (${SELECT_MOMENT}
    ) c left join lateral (
      select * from (
        select *, octet_length(item) as size, count(*) over () as found,
          sum(octet_length(item)) over (order by newest, id rows unbounded preceding) as bytes
        from (
          select * from ${examined} ${selection.brand === undefined ? '' : joinItem(builder)}
          ${rowFilters.length > 0 ? `where ${rowFilters.join(' and ')}` : ''}
          order by newest, id limit ${limit}
        ) shown
      ) sized
      where bytes <= ${MAX_PAGE_BYTES} or bytes = size
    ) p on true
    order by p.newest, p.id`;
};

/**
 * Builds the query for a page of a list, newest first, with the checkpoint of its snapshot. For each combination of
 * filter values, an index contains the matching keys in this order. The query merges these index ranges, so that it
 * reads only as many keys as it returns.
 */
export const listPage = (selection: Selection, page: PageRequest): QueryConfig => {
  const builder = new StatementBuilder(selection);
  return builder.query(pageStatementName(selection, page), buildPage(builder, selection, page));
};

const buildCount = (builder: StatementBuilder, selection: Selection, page: PageRequest): string => {
  const examined = `(${keysOf(builder, selection, page)}) examined`;
  const rowFilters = rowFiltersOf(builder, selection);
  const items = rowFilters.length > 0 && selection.brand !== undefined ? joinItem(builder) : '';
  if (items !== '') rowFilters.unshift(itemMatchesKey(builder));
  const where = rowFilters.length === 0 ? '' : `where ${rowFilters.join(' and ')}`;
  return `select count(*) as n from (
      select from ${examined} ${items} ${where} limit ${builder.add(page.limit, 'integer')}
    ) counted`;
};

/** Builds the query that counts a selection, up to the limit of the page. */
export const countUpTo = (selection: Selection, page: PageRequest): QueryConfig => {
  const builder = new StatementBuilder(selection);
  return builder.query(undefined, buildCount(builder, selection, page));
};

const SAMPLE = { organization: 'acme', kind: 2, range: { from: EARLIEST, to: LATEST } };
const NO_FILTER = { statuses: undefined, types: undefined, asset: undefined };
/** Filters that lead to statements of different shapes. */
export const SAMPLE_FILTERS: readonly Pick<Selection, 'statuses' | 'types' | 'asset'>[] = [
  NO_FILTER,
  { ...NO_FILTER, statuses: ['BLOCKED'] },
  { ...NO_FILTER, types: ['URL', 'PAGE'] },
  { ...NO_FILTER, statuses: ['BLOCKED'], types: ['URL', 'PAGE'] },
  { asset: { type: 'URL', hash: '00000000000040008000000000000001' }, statuses: ['BLOCKED'], types: ['URL'] },
];

/** A prepared statement of each shape, with and without a brand, for tests. */
export const SAMPLES: readonly Statement[] = SAMPLE_FILTERS.flatMap((filter) =>
  [undefined, 'shoes'].flatMap((brand) => {
    const selection = { ...SAMPLE, ...filter, brand };
    const first = { after: [-LATEST, ''], upTo: null, limit: 100 } as const;
    const count = new StatementBuilder(SAMPLE);
    return [
      ...[first, { ...first, upTo: 0 }].map((page) => {
        const list = new StatementBuilder(SAMPLE);
        return list.declare(pageStatementName(selection, page)!, buildPage(list, selection, page), LISTED_COLUMNS);
      }),
      count.declare(statementName('count', selection)!, buildCount(count, selection, first), { n: 'bigint' }),
    ];
  }),
);

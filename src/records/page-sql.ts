import type { QueryConfig } from 'pg';
import { LRUCache } from 'lru-cache';
import { type Declarations, type Statement, json, nullable, statement } from '../postgres/statement.js';
import { Unprocessable } from '../errors.js';
import type { Selection } from './selection.js';
import { ITEM_PARTS, itemBytes } from './item.js';
import { SELECT_MOMENT, MOMENT_COLUMNS } from './record-queries.js';
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

/** A selection may have so many combinations of status and type that occur. Upstream's own names have fewer. */
const MAX_COMBINATIONS = limit('list', 256, 'combinations of status and type', 'request', '422');
/** The numbers of ranges for which a statement is prepared. A smaller one is planned and executed faster. */
const BRANCHES = [16, 64, MAX_COMBINATIONS];
export const [FEWEST_BRANCHES] = BRANCHES as [number];

/** What the text of a statement depends on. */
interface Shape {
  readonly purpose: 'list' | 'next' | 'count';
  readonly brand: boolean;
  readonly statuses: boolean;
  readonly types: boolean;
  readonly asset: boolean;
  /** How many ranges of the index it merges. */
  readonly branches: number;
}

type Filters = Pick<Selection, 'brand' | 'statuses' | 'types' | 'asset'>;

const shapeOf = (purpose: Shape['purpose'], selection: Filters, branches: number): Shape => ({
  purpose,
  brand: selection.brand !== undefined,
  statuses: selection.statuses !== undefined,
  types: selection.types !== undefined,
  asset: selection.asset !== undefined,
  branches: selection.asset === undefined ? branches : 1,
});

const nameOf = ({ purpose, brand, statuses, types, asset, branches }: Shape): string =>
  `records-${purpose}-${brand ? 'brand' : 'all'}-${asset ? 'a' : ''}${statuses ? 's' : ''}${types ? 't' : ''}${branches}`;

const parametersOf = ({ purpose, brand, statuses, types, asset }: Shape): Declarations => ({
  organization: 'text',
  kind: 'smallint',
  afterNewest: 'bigint',
  afterId: 'text',
  oldest: 'bigint',
  limit: 'integer',
  ...(brand && { brand: 'text' }),
  ...(statuses && { statuses: 'text[]' }),
  ...(types && { types: 'text[]' }),
  ...(asset && { asset: 'uuid', assetTypes: 'text[]' }),
  ...(purpose === 'next' && { upTo: 'bigint' }),
});

const valuesOf = ({ organization, kind, brand, statuses, types, asset, range }: Selection, page: PageRequest) => ({
  organization,
  kind,
  brand,
  statuses,
  types,
  asset: asset?.hash,
  // A link is reported as a URL, whatever it leads to.
  assetTypes: asset && [asset.type, 'URL'],
  afterNewest: page.after[0],
  afterId: page.after[1],
  oldest: -range.from,
  upTo: page.upTo,
  limit: page.limit,
});

/** The columns of the index of lists, which has a range for each combination. Reports have neither. */
const [STATUS, TYPE] = ["coalesce(status, '')", "coalesce(type, '')"];

const tableOf = ({ brand }: Shape): string => `read.${brand ? 'register_brands' : 'register'}`;
const ownedOf = ({ brand }: Shape): string =>
  `organization = :organization and kind = :kind and ${brand ? 'brand = :brand' : 'created_at is not null'}`;

/**
 * Returns the common table expressions of which the last, `selected`, has the combinations of status and type. What is
 * not requested is read from the index in the same snapshot, one look-up for each combination that occurs.
 */
const combinationsOf = (shape: Shape): string => {
  const first = (column: string, condition = ''): string =>
    `(select ${column} from ${tableOf(shape)} where ${ownedOf(shape)} ${condition} order by ${column} limit 1)`;
  const statuses = shape.statuses
    ? 'select * from unnest(:statuses)'
    : `
      ${first(STATUS)} union all
      select ${first(STATUS, `and ${STATUS} > s.status`)} from statuses s where s.status is not null`;
  const combinations = shape.types
    ? 'select * from statuses s cross join unnest(:types) where s.status is not null'
    : `
      select s.status, ${first(TYPE, `and ${STATUS} = s.status`)} from statuses s where s.status is not null union all
      select c.status, ${first(TYPE, `and ${STATUS} = c.status and ${TYPE} > c.type`)} from combinations c
      where c.type is not null`;
  return `
    with recursive statuses (status) as (${statuses}
    ), combinations (status, type) as (${combinations}
    ), selected as materialized (
      select array_agg(status) as statuses, array_agg(type) as types, count(*) as n
      from (select * from combinations where type is not null limit ${MAX_COMBINATIONS + 1}) found
    )`;
};

const withCombinations = (shape: Shape): string => (shape.asset ? '' : combinationsOf(shape));
const combinationCount = ({ asset }: Shape): string => (asset ? '1::bigint' : '(select n from selected)');

/**
 * Returns the keys of a selection in order, up to `most`. Each branch reads a range of an index in this order, and only as
 * much of it as is merged, because it has a limit of its own.
 */
const keysOf = (shape: Shape, most: string): string => {
  const at = shape.brand ? '(-at)' : '(-created_at)';
  const columns = shape.brand ? 'id, record' : `id, position, status, type, ${ITEM_PARTS} as parts`;
  const branches = Array.from({ length: shape.branches }, (_, n) => {
    const range = shape.asset
      ? 'asset = :asset'
      : `${STATUS} = (select statuses[${n + 1}] from selected) and ${TYPE} = (select types[${n + 1}] from selected)`;
    return `(select ${at} as newest, ${columns} from ${tableOf(shape)}
      where ${ownedOf(shape)} and (${at}, id) > (:afterNewest, :afterId) and ${at} <= :oldest and ${range}
      order by newest, id limit ${most})`;
  });
  return `select * from (${branches.join(' union all ')}) keys order by newest, id limit ${most}`;
};

/** An asset has few records, so further filters are applied row by row. */
const rowFiltersOf = ({ asset, types, statuses }: Shape): string[] =>
  asset
    ? [
        'type = any(:assetTypes)',
        ...(types ? ['type = any(:types)'] : []),
        ...(statuses ? ['status = any(:statuses)'] : []),
      ]
    : [];

/** Maximum size of the items of a page. A single item may be larger. */
const MAX_PAGE_BYTES = limit('page of a list', 1024 * 1024, 'bytes', 'request', 'the page is shorter');
/** Maximum number of keys that a page examines if a filter excludes some of them. */
const MAX_EXAMINED = limit('page of a list', 20_000, 'keys examined', 'request', 'the page is shorter');

interface Moment {
  /** The combinations of status and type of the selection, up to one more than a statement may have. */
  readonly combinations: number;
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
    | {
        readonly id: string;
        /** As in `ITEM_PARTS`. */
        readonly parts: string;
        /** The instant by which the record is listed, in ms and negated, so that ascending order is newest first. */
        readonly newest: number;
        /** Number of rows before the page was limited to its maximum size. */
        readonly found: number;
      }
  );

/** Reads the record of a brand by key. */
const JOIN_RECORD = `cross join lateral (
            select position, status, type, ${ITEM_PARTS} as parts from read.register r where r.record = examined.record limit 1
          ) of_brand`;

const LISTED_COLUMNS = {
  ...MOMENT_COLUMNS,
  combinations: 'bigint',
  lastExamined: nullable(json<NonNullable<Moment['lastExamined']>>()),
  newest: nullable('bigint'),
  id: nullable('text'),
  parts: nullable('text'),
  found: nullable('bigint'),
} as const;

const pageText = (shape: Shape): string => {
  const rowFilters = rowFiltersOf(shape);
  if (shape.purpose === 'next') rowFilters.unshift('position <= :upTo');
  const isFiltered = rowFilters.length > 0;
  const examined = `(${keysOf(shape, isFiltered ? String(MAX_EXAMINED) : ':limit')}) examined`;
  // The last key is read in the same statement. In another snapshot, the last key could be a key that was not examined.
  const last = `case when coalesce(p.found, 0) < :limit then
        (select json_build_array(newest, id) from ${examined} offset ${MAX_EXAMINED - 1}) end`;
  return `${withCombinations(shape)}
    select c."asOf", c."upTo", ${combinationCount(shape)} as combinations,
      ${isFiltered ? last : 'null::json'} as "lastExamined", p.newest, p.id, p.parts, p.found
    from (${SELECT_MOMENT}
    ) c left join lateral (
      select * from (
        select *, count(*) over () as found, sum(size) over (order by newest, id rows unbounded preceding) as bytes
        from (
          select *, ${itemBytes('parts')} as size from ${examined} ${shape.brand ? JOIN_RECORD : ''}
          ${rowFilters.length > 0 ? `where ${rowFilters.join(' and ')}` : ''}
          order by newest, id limit :limit
        ) shown
      ) sized
      where bytes <= ${MAX_PAGE_BYTES} or bytes = size
    ) p on true
    order by p.newest, p.id`;
};

const countText = (shape: Shape): string => {
  const rowFilters = rowFiltersOf(shape);
  const isJoined = rowFilters.length > 0 && shape.brand;
  const where = rowFilters.length === 0 ? '' : `where ${rowFilters.join(' and ')}`;
  return `${withCombinations(shape)}
    select count(*) as n, ${combinationCount(shape)} as combinations from (
      select from (${keysOf(shape, ':limit')}) examined ${isJoined ? JOIN_RECORD : ''} ${where}
    ) counted`;
};

/** The number of records of a selection. */
export interface Counted {
  readonly n: number;
  readonly combinations: number;
}

/** The statements that have been used. There are fewer than a hundred shapes. */
const statements = new Map<string, Statement>();

const statementOf = (shape: Shape): Statement => {
  const name = nameOf(shape);
  const known = statements.get(name);
  if (known !== undefined) return known;
  const declared: Statement =
    shape.purpose === 'count'
      ? statement(name, parametersOf(shape), { n: 'bigint', combinations: 'bigint' }, countText(shape))
      : statement(name, parametersOf(shape), LISTED_COLUMNS, pageText(shape));
  statements.set(name, declared);
  return declared;
};

/**
 * Returns the query for a page of a list, newest first, with the checkpoint of its snapshot. An index contains the keys of
 * each combination of status and type in this order. The query merges these ranges, so that it reads only as many keys as
 * it returns.
 * @param branches the combinations that the query can merge. If the rows have more `combinations`, they are incomplete
 */
export const listPage = (selection: Selection, page: PageRequest, branches = MAX_COMBINATIONS): QueryConfig =>
  statementOf(shapeOf(page.upTo === null ? 'list' : 'next', selection, branches)).query(valuesOf(selection, page));

/** Returns the query that counts a selection, up to the limit of the page. @param branches as for `listPage` */
export const countUpTo = (selection: Selection, page: PageRequest, branches = MAX_COMBINATIONS): QueryConfig =>
  statementOf(shapeOf('count', selection, branches)).query(valuesOf(selection, page));

/** The combinations that a selection had last. A wrong number costs a second query. */
const lastCombinations = new LRUCache<string, number>({ max: 1_000 });

/**
 * Runs a query with enough branches for the combinations of the selection.
 * @param run sends the query for a number of branches, and returns its rows, of which there is at least one
 * @throws Unprocessable if the selection has too many combinations
 */
export const withBranches = async <Row extends { readonly combinations: number }>(
  selection: Selection,
  run: (branches: number) => Promise<Row[]>,
): Promise<Row[]> => {
  const { organization, kind, brand, statuses, types, asset } = selection;
  const key = JSON.stringify([organization, kind, brand, statuses, types, asset !== undefined]);
  const requested = (statuses?.length ?? 0) * (types?.length ?? 0);
  // Also if the selection had too many combinations last: it may have fewer now.
  const last = lastCombinations.get(key);
  for (let expected = last === undefined ? requested : Math.min(last, MAX_COMBINATIONS); ;) {
    const branches = BRANCHES.find((each) => each >= expected);
    if (branches === undefined)
      throw new Unprocessable(
        `The selection has more than ${MAX_COMBINATIONS} combinations of status and asset type; filter by status or assetType`,
      );
    const rows = await run(branches);
    const { combinations } = rows[0]!;
    lastCombinations.set(key, combinations);
    if (combinations <= branches) return rows;
    expected = combinations;
  }
};

/** Filters that lead to statements of different shapes. */
export const SAMPLE_FILTERS: readonly Omit<Filters, 'brand'>[] = [undefined, ['BLOCKED']].flatMap((statuses) =>
  [undefined, ['URL', 'PAGE']].flatMap((types) =>
    [undefined, { type: 'URL', hash: '00000000000040008000000000000001' }].map((asset) => ({ statuses, types, asset })),
  ),
);

/** A statement of each shape with the fewest branches, for tests. */
export const SAMPLES: readonly Statement[] = SAMPLE_FILTERS.flatMap((filter) =>
  [undefined, 'shoes'].flatMap((brand) =>
    (['list', 'next', 'count'] as const).map((purpose) =>
      statementOf(shapeOf(purpose, { ...filter, brand }, FEWEST_BRANCHES)),
    ),
  ),
);

import type { QueryConfig } from 'pg';
import { EARLIEST, LATEST } from '../events/instant.js';
import { nullable, Statement, statement } from '../postgres/statement.js';
import type { Selection } from './selection.js';

const ITEM = 'position, created_at as "createdAt", updated_at as "updatedAt", status, type, content, brands';
const ITEM_COLUMNS = {
  position: nullable('bigint'),
  /** ms */
  createdAt: nullable('bigint'),
  /** ms */
  updatedAt: nullable('bigint'),
  status: nullable('text'),
  type: nullable('text'),
  content: nullable('text'),
  brands: nullable('text[]'),
} as const;
const SIZE = `octet_length(coalesce(content, '')) + coalesce(octet_length(array_to_string(brands, ',')), 0)`;
const CHECKPOINT = `
      select
        (select as_of from read.checkpoints where projection = 'records') as "asOf",
        (select position from read.checkpoints where projection = 'records') as "upTo"`;
const MOMENT_COLUMNS = {
  /** Everything acknowledged before this instant (ms) is shown. */
  asOf: nullable('bigint'),
  /** The log's position that the rows have reached. */
  upTo: nullable('bigint'),
} as const;

/** Bytes of contents and brands that a page holds, as they are stored; a page of one item may hold more. */
const MAX_PAGE_BYTES = 512 * 1024;
/** Keys that a page looks at if not all of them are shown. */
const MAX_EXAMINED = 20_000;
/** More branches than these are planned each time, rather than kept by each connection. */
const MAX_PREPARED_BRANCHES = 12;

/** Where a page begins, and what it may hold. */
export interface PageRequest {
  /** The key before it: the negated instant (ms) and the id. */
  readonly after: readonly [newest: number, id: string];
  /** The log's position as of the first page: what changed later is not shown. Null: this is the first page. */
  readonly upTo: number | null;
  /** Rows; one more than are shown says whether there is another page. */
  readonly limit: number;
}

/** A record as the tables have it. */
export interface ItemRow {
  readonly id: string;
  readonly position: number;
  /** ms */
  readonly createdAt: number;
  /** ms */
  readonly updatedAt: number | null;
  readonly status: string | null;
  readonly type: string | null;
  readonly content: string | null;
  readonly brands: readonly string[] | null;
}

interface Moment {
  readonly asOf: number | null;
  readonly upTo: number | null;
}

/** One row with a null id: nothing was found. */
export type ListedRow = Moment &
  (
    | { readonly id: null }
    | (ItemRow & {
        /** The negated instant by which it is listed. ms */
        readonly newest: number;
        /** Rows there were before the page was cut to its bytes. */
        readonly found: number;
      })
  );

type SqlType = 'text' | 'text[]' | 'uuid' | 'bigint' | 'integer' | 'smallint';

/** A statement that is written as its values are known. */
class Draft {
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
const branchesOf = ({ statuses, types, asset }: Selection): readonly (readonly [column: string, value: string][])[] => {
  if (asset !== undefined) return [[['asset', asset.hash]]];
  const ofStatus = statuses?.map((status) => [['status', status] as [string, string]]) ?? [[]];
  const ofType = types?.map((type) => [['type', type] as [string, string]]) ?? [[]];
  return ofStatus.flatMap((status) => ofType.map((type) => [...status, ...type]));
};

/** The keys of a selection in order, from a slice of an index for each combination of values. */
const keysOf = (draft: Draft, selection: Selection, { after }: PageRequest): string => {
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
    const columns = brand === undefined ? `id, ${ITEM}` : 'id';
    return `select ${at} as newest, ${columns} from read.${table} where ${owned}${tests.join('')} order by newest, id`;
  });
  // In order each, or the planner would read them whole and sort them.
  return `select * from (${branches.map((branch) => `(${branch})`).join(' union all ')}) keys order by newest, id`;
};

/** Few records are of one asset, so what else is asked of them is looked at one by one. */
const testsOf = (draft: Draft, { statuses, types, asset }: Selection): string[] => {
  if (asset === undefined) return [];
  const tests = [`type = ${draft.add(asset.type, 'text')}`];
  if (types !== undefined) tests.push(`type = any(${draft.add(types, 'text[]')})`);
  if (statuses !== undefined) tests.push(`status = any(${draft.add(statuses, 'text[]')})`);
  return tests;
};

/** As in the projection's READ_VERDICTS: an order can only come from the primary key. */
const itemOfKey = `cross join lateral (
            select organization as of_organization, kind as of_kind, id as of_id, ${ITEM} from read.listed_records
            where (organization, kind, id) >= ($1, $2, examined.id)
            order by organization, kind, id limit 1
          ) item`;
const IS_OF_KEY = 'of_organization = $1 and of_kind = $2 and of_id = examined.id';

/** Whether some keys of a page may not be shown. */
export const isSifted = ({ asset }: Selection, { upTo }: PageRequest): boolean => asset !== undefined || upTo !== null;

const nameOf = (purpose: string, selection: Selection): string | undefined => {
  const { brand, statuses, types, asset } = selection;
  const branches = branchesOf(selection).length;
  const by = `${asset === undefined ? '' : 'a'}${statuses ? 's' : ''}${types ? 't' : ''}${branches}`;
  const name = `records-${purpose}-${brand === undefined ? 'all' : 'brand'}-${by}`;
  return branches > MAX_PREPARED_BRANCHES ? undefined : name;
};

const LISTED_COLUMNS = {
  ...MOMENT_COLUMNS,
  newest: nullable('bigint'),
  id: nullable('text'),
  ...ITEM_COLUMNS,
  found: nullable('bigint'),
} as const;

const draftPage = (draft: Draft, selection: Selection, page: PageRequest): string => {
  const examined = `(${keysOf(draft, selection, page)} limit ${MAX_EXAMINED}) examined`;
  const upTo = draft.add(page.upTo, 'bigint');
  const tests = [`(${upTo} is null or position <= ${upTo})`, ...testsOf(draft, selection)];
  if (selection.brand !== undefined) tests.unshift(IS_OF_KEY);
  return `
    select c."asOf", c."upTo", p.newest, p.id, p.position, p."createdAt", p."updatedAt", p.status, p.type, p.content,
      p.brands, p.found
    from (${CHECKPOINT}
    ) c left join lateral (
      select * from (
        select *, ${SIZE} as size, count(*) over () as found,
          sum(${SIZE}) over (order by newest, id rows unbounded preceding) as bytes
        from (
          select * from ${examined} ${selection.brand === undefined ? '' : itemOfKey}
          where ${tests.join(' and ')}
          order by newest, id limit ${draft.add(page.limit, 'integer')}
        ) shown
      ) sized
      where bytes <= ${MAX_PAGE_BYTES} or bytes = size
    ) p on true
    order by p.newest, p.id`;
};

/**
 * A page of a list, newest first, with the moment it is of. Reads as many keys as it shows, whatever the filter: each
 * combination of values is a slice of an index in that order, and the slices are merged.
 */
export const listPage = (selection: Selection, page: PageRequest): QueryConfig => {
  const draft = new Draft();
  return draft.query(nameOf('list', selection), draftPage(draft, selection, page));
};

const draftLast = (draft: Draft, selection: Selection, page: PageRequest): string =>
  `select newest, id from (${keysOf(draft, selection, page)} limit ${MAX_EXAMINED}) examined offset ${MAX_EXAMINED - 1}`;

/** The last key that a page looks at; no row if it has looked at all of them. */
export const lastExamined = (selection: Selection, page: PageRequest): QueryConfig => {
  const draft = new Draft();
  return draft.query(nameOf('last', selection), draftLast(draft, selection, page));
};

const draftCount = (draft: Draft, selection: Selection, page: PageRequest): string => {
  const examined = `(${keysOf(draft, selection, page)}) examined`;
  const tests = testsOf(draft, selection);
  const items = tests.length > 0 && selection.brand !== undefined ? itemOfKey : '';
  if (items !== '') tests.unshift(IS_OF_KEY);
  const where = tests.length === 0 ? '' : `where ${tests.join(' and ')}`;
  return `select count(*) as n from (
      select from ${examined} ${items} ${where} limit ${draft.add(page.limit, 'integer')}
    ) counted`;
};

/** Counts a selection, up to the page's limit. */
export const countUpTo = (selection: Selection, page: PageRequest): QueryConfig => {
  const draft = new Draft();
  return draft.query(undefined, draftCount(draft, selection, page));
};

const SAMPLE = { organization: 'acme', kind: 2, range: { from: EARLIEST, to: LATEST } };
const NONE = { brand: undefined, statuses: undefined, types: undefined, asset: undefined };
const FILTERS: readonly Partial<Selection>[] = [
  {},
  { statuses: ['BLOCKED'] },
  { types: ['URL', 'PAGE'] },
  { statuses: ['BLOCKED'], types: ['URL', 'PAGE'] },
  {
    asset: { type: 'URL', hash: '0123456789abcdef0123456789abcdef' },
    statuses: ['BLOCKED'],
    types: ['URL'],
  },
];

/** One of each shape, as a connection prepares it. */
export const SAMPLES: readonly Statement[] = FILTERS.flatMap((filter) =>
  [undefined, 'shoes'].flatMap((brand) => {
    const selection = { ...SAMPLE, ...NONE, ...filter, brand };
    const page = { after: [-LATEST, ''], upTo: null, limit: 100 } as const;
    const [list, last, count] = [new Draft(), new Draft(), new Draft()];
    return [
      list.declare(nameOf('list', selection)!, draftPage(list, selection, page), LISTED_COLUMNS),
      last.declare(nameOf('last', selection)!, draftLast(last, selection, page), { newest: 'bigint', id: 'text' }),
      count.declare(nameOf('count', selection)!, draftCount(count, selection, page), { n: 'bigint' }),
    ];
  }),
);

/**
 * One record; a null id: there is none. The first row from the key on, if it is the key's: to find equal columns the
 * planner may take any index that begins with the organization.
 */
export const FIND_RECORD = statement(
  'records-find',
  { organization: 'text', kind: 'smallint', id: 'text' },
  { ...MOMENT_COLUMNS, id: nullable('text'), ...ITEM_COLUMNS },
  `
    select c.*, r.* from (${CHECKPOINT}
    ) c left join (
      select id, ${ITEM} from (
        select * from read.listed_records
        where (organization, kind, id) >= ($1, $2::smallint, $3) order by organization, kind, id limit 1
      ) next
      where organization = $1 and kind = $2 and id = $3 and created_at is not null
    ) r on true`,
);

/** How far the rows are, and when their tables were made (ms). */
export const READ_FILL = statement(
  'records-fill',
  { migration: 'text' },
  { asOf: nullable('bigint'), position: nullable('bigint'), madeAt: 'bigint' },
  `
    select c.as_of as "asOf", c.position,
      floor(extract(epoch from m.applied_at::timestamptz) * 1000)::bigint as "madeAt"
    from read.later_migrations m left join read.checkpoints c on c.projection = 'records'
    where m.name = $1`,
);

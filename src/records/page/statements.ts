import type { QueryConfig } from 'pg';
import { EARLIEST, LATEST } from '../../events/instant.js';
import { json, nullable, type Statement } from '../../postgres/statement.js';
import type { Selection } from '../selection.js';
import { CHECKPOINT, type ItemRow, MOMENT_COLUMNS } from '../statements.js';
import { branchesOf, Draft, keysOf, type PageRequest, testsOf } from './filter-sql.js';

/** Bytes of items that a page holds; a page of one item may hold more. */
const MAX_PAGE_BYTES = 1024 * 1024;
/** Keys that a page looks at if not all of them are shown. */
const MAX_EXAMINED = 20_000;
/** More branches than these are planned each time, rather than kept by each connection. */
const MAX_PREPARED_BRANCHES = 12;

interface Moment {
  readonly asOf: number | null;
  readonly upTo: number | null;
  /** The last key that the page has looked at; null: its rows say where it ends, or it has looked at all keys. */
  readonly lastExamined: readonly [newest: number, id: string] | null;
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

/** As in the projection's READ_VERDICTS: an order can only come from the primary key. */
const itemOfKey = `cross join lateral (
            select organization as of_organization, kind as of_kind, id as of_id, position, status, type, item
            from read.listed_records
            where (organization, kind, id) >= ($1, $2, examined.id)
            order by organization, kind, id limit 1
          ) item`;
const IS_OF_KEY = 'of_organization = $1 and of_kind = $2 and of_id = examined.id';

const nameOf = (purpose: 'list' | 'next' | 'count', selection: Selection): string | undefined => {
  const { brand, statuses, types, asset } = selection;
  const branches = branchesOf(selection).length;
  const by = `${asset === undefined ? '' : 'a'}${statuses ? 's' : ''}${types ? 't' : ''}${branches}`;
  const name = `records-${purpose}-${brand === undefined ? 'all' : 'brand'}-${by}`;
  return branches > MAX_PREPARED_BRANCHES ? undefined : name;
};

const pageName = (selection: Selection, { upTo }: PageRequest): string | undefined =>
  nameOf(upTo === null ? 'list' : 'next', selection);

const LISTED_COLUMNS = {
  ...MOMENT_COLUMNS,
  lastExamined: nullable(json<NonNullable<Moment['lastExamined']>>()),
  newest: nullable('bigint'),
  id: nullable('text'),
  item: nullable('text'),
  found: nullable('bigint'),
} as const;

const draftPage = (draft: Draft, selection: Selection, page: PageRequest): string => {
  const examined = `(${keysOf(draft, selection, page)} limit ${MAX_EXAMINED}) examined`;
  const limit = draft.add(page.limit, 'integer');
  const tests = testsOf(draft, selection);
  if (page.upTo !== null) tests.unshift(`position <= ${draft.add(page.upTo, 'bigint')}`);
  const isSifted = tests.length > 0;
  if (selection.brand !== undefined) tests.unshift(IS_OF_KEY);
  // Read only if it is asked for, and in the same snapshot: of another one it could be a key that nobody has looked at.
  const last = `case when coalesce(p.found, 0) < ${limit} then
        (select json_build_array(newest, id) from ${examined} offset ${MAX_EXAMINED - 1}) end`;
  return `
    select c."asOf", c."upTo", ${isSifted ? last : 'null::json'} as "lastExamined", p.newest, p.id, p.item, p.found
    from (${CHECKPOINT}
    ) c left join lateral (
      select * from (
        select *, octet_length(item) as size, count(*) over () as found,
          sum(octet_length(item)) over (order by newest, id rows unbounded preceding) as bytes
        from (
          select * from ${examined} ${selection.brand === undefined ? '' : itemOfKey}
          ${tests.length > 0 ? `where ${tests.join(' and ')}` : ''}
          order by newest, id limit ${limit}
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
  return draft.query(pageName(selection, page), draftPage(draft, selection, page));
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
const NONE = { statuses: undefined, types: undefined, asset: undefined };
/** One of each shape of a page. */
export const SAMPLE_FILTERS: readonly Pick<Selection, 'statuses' | 'types' | 'asset'>[] = [
  NONE,
  { ...NONE, statuses: ['BLOCKED'] },
  { ...NONE, types: ['URL', 'PAGE'] },
  { ...NONE, statuses: ['BLOCKED'], types: ['URL', 'PAGE'] },
  { asset: { type: 'URL', hash: '00000000000040008000000000000001' }, statuses: ['BLOCKED'], types: ['URL'] },
];

/** Of the organization and of a brand, as a connection prepares them. */
export const SAMPLES: readonly Statement[] = SAMPLE_FILTERS.flatMap((filter) =>
  [undefined, 'shoes'].flatMap((brand) => {
    const selection = { ...SAMPLE, ...filter, brand };
    const first = { after: [-LATEST, ''], upTo: null, limit: 100 } as const;
    const count = new Draft();
    return [
      ...[first, { ...first, upTo: 0 }].map((page) => {
        const list = new Draft();
        return list.declare(pageName(selection, page)!, draftPage(list, selection, page), LISTED_COLUMNS);
      }),
      count.declare(nameOf('count', selection)!, draftCount(count, selection, first), { n: 'bigint' }),
    ];
  }),
);

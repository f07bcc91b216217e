import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { expiringRows } from '../../read-models/expiry.js';
import { inTransaction } from '../../postgres/transaction.js';
import { CLOCK, statement } from '../../postgres/statement.js';
import { CooperativeYield } from '../../flow/time.js';
import type { BuiltLists, ListName } from '../built-lists.js';
import type { Half } from '../expressions.js';
import type { ExpressionName } from './expression-names.js';
import { KEPT_DAYS } from '../list-versions.js';
import type { ServedList } from '../served-list.js';
import { applyChange, bufferOf, type Change, changeBetween, HASH_BYTES, without } from '../sorted-hashes.js';

/** SQL for the hashes of a parameter that has them one after the other. */
const HASHES = `(select substr(:hashes, n * ${HASH_BYTES} + 1, ${HASH_BYTES}) as hash
  from generate_series(0, octet_length(:hashes) / ${HASH_BYTES} - 1) n)`;

/** The hashes that have no name yet. Some never get one. */
export const NAMELESS_HASHES = statement(
  'list-names-missing',
  { hashes: 'bytea', isAsk: 'boolean' },
  { hash: 'bytea' },
  `
    select hash from ${HASHES} listed where not exists (
      select from service.list_names n where n.hash = listed.hash and n.is_ask = :isAsk and n.unlisted_at is null)`,
);

/**
 * Adds names, but none of an asset that has been redacted meanwhile. Of an own status whose asset is not in the table, a
 * redaction would not find the name, so it is deleted as soon as no list has the expression.
 */
export const ADD_NAMES = statement(
  'list-names-add',
  {
    hash: 'bytea[]',
    isAsk: 'boolean',
    expression: 'text[]',
    exceptionHost: 'text[]',
    assetHash: 'text[]',
  },
  `
    insert into service.list_names (hash, is_ask, expression, exception_host, asset_hash)
    select n.hash, :isAsk, n.expression, reverse(n.exception_host),
      case when n.asset_hash = '' or s.asset_hash is not null then n.asset_hash end
    from unnest(:hash, :expression, :exceptionHost, :assetHash) n (hash, expression, exception_host, asset_hash)
    left join read.asset_statuses s on s.asset_hash = n.asset_hash
    where s.asset is distinct from ''
    on conflict (hash, is_ask) do update set unlisted_at = null, asset_hash = excluded.asset_hash`,
);

/**
 * Marks the names of contents that no list blocks any more. They stay for clients that ask what was removed, if a redaction
 * can find them. Other names are deleted.
 */
export const UNLIST_NAMES = statement(
  'list-names-unlist',
  { hashes: 'bytea', isAsk: 'boolean' },
  `
    with gone as materialized ${HASHES},
      dropped as (
        delete from service.list_names n using gone
        where n.hash = gone.hash and n.is_ask = :isAsk and (n.asset_hash is null or n.exception_host is not null))
    update service.list_names n set unlisted_at = ${CLOCK} from gone
    where n.hash = gone.hash and n.is_ask = :isAsk and n.asset_hash is not null and n.exception_host is null
      and n.unlisted_at is null`,
);

/** The listed names that none of the hashes has. */
export const OTHER_NAMES = statement(
  'list-names-others',
  { hashes: 'bytea', isAsk: 'boolean' },
  { hash: 'bytea' },
  `
    select n.hash from service.list_names n left join ${HASHES} listed on listed.hash = n.hash
    where n.is_ask = :isAsk and n.unlisted_at is null and listed.hash is null order by n.hash`,
);

/** Says that every listed expression has the name that it should have. */
export const MARK_NAMED = statement(
  'list-names-complete',
  {},
  'update service.lists set has_names = true where not has_names',
);

export const FORGET_NAMES = statement(
  'list-names-forget',
  {},
  `
    delete from service.list_names n where n.asset_hash <> '' and not exists (
      select from read.asset_statuses s where s.asset_hash = n.asset_hash and s.asset <> '')`,
);

/**
 * Deletes the names of own statuses whose asset was redacted or erased. Waits for names that are being added, which may be
 * older than the redaction.
 */
export const forgetNames = (pool: Pool): Promise<void> =>
  inTransaction(pool, async (connection) => {
    await connection.query('lock table service.list_names in share row exclusive mode');
    await FORGET_NAMES.run(connection, {});
  });

/** Names that were removed before the oldest version whose changes a client can ask for. */
export const OLD_NAMES = expiringRows({
  name: 'names of lists',
  table: 'service.list_names',
  where: `t.unlisted_at < (select ${CLOCK}) - ${KEPT_DAYS * 86_400_000}`,
});

/** The names of these hashes, also of those that are not listed any more. */
export const NAMES_OF = statement(
  'list-names-of',
  { hashes: 'bytea', isAsk: 'boolean' },
  { hash: 'bytea', expression: 'text', isException: 'boolean' },
  `
    select distinct n.hash, n.expression, n.exception_host is not null as "isException" from ${HASHES} h
    join service.list_names n on n.hash = h.hash and n.is_ask = :isAsk order by n.hash`,
);

/** A page of all listed names, by hash. */
export const NAMES_AFTER = statement(
  'list-names-after',
  { hash: 'bytea', isAsk: 'boolean', limit: 'integer' },
  { hash: 'bytea', isAsk: 'boolean', expression: 'text', isException: 'boolean' },
  `
    select hash, is_ask as "isAsk", expression, exception_host is not null as "isException" from service.list_names
    where (hash, is_ask) > (:hash, :isAsk) and unlisted_at is null order by hash, is_ask limit :limit`,
);

/**
 * The blocked contents whose hash is between two others, unless something at or below the host is not blocked: a client that
 * knows only blocked contents would block that too. Written so that PostgreSQL looks up each prefix and each exception in an
 * index: it would join `not exists` with all exceptions, and without an order read all names for a prefix.
 */
export const NAMES_BETWEEN = statement(
  'list-names-between',
  { lowest: 'bytea[]', highest: 'bytea[]', limit: 'integer' },
  { expression: 'text' },
  `
    select n.expression from unnest(:lowest, :highest) p (lowest, highest)
    cross join lateral (
      select l.expression, reverse(split_part(l.expression, '/', 1)) as host from service.list_names l
      where l.hash between p.lowest and p.highest and not l.is_ask and l.exception_host is null
        and l.unlisted_at is null
      order by l.hash limit :limit
    ) n
    where (
        select true from service.list_names e where e.unlisted_at is null and e.exception_host = n.host limit 1
      ) is null and (
        select true from service.list_names e where e.unlisted_at is null
          and e.exception_host > n.host || '.' and e.exception_host < n.host || '/' limit 1
      ) is null`,
);

/** Names that are stored by one statement. */
const NAMES_AT_ONCE = 5_000;
/** Hashes of a first list that are named between two versions, so that the next version does not have to wait. */
const HASHES_AT_ONCE = 20_000;
const LISTS_OF: Readonly<Record<Half, readonly ListName[]>> = { ask: ['ask-8b'], list: ['all-8b', 'own-8b'] };
/** What is not blocked comes first, so that no client finds a blocked host without it. */
const HALVES: readonly Half[] = ['ask', 'list'];
const EMPTY = new Uint8Array();

type HashesOf = (name: ListName) => Uint8Array;

const inLists =
  (lists: BuiltLists['lists']): HashesOf =>
  (name) =>
    lists.get(name) ?? EMPTY;

const unionOf = (one: Uint8Array, other: Uint8Array): Uint8Array =>
  applyChange(one, { removed: EMPTY, added: without(other, one) });

/** Returns what changes in the expressions of a half. What one list loses may still be in the other. */
const changeOf = (half: Half, before: HashesOf, after: HashesOf): Change => {
  const changes = LISTS_OF[half].map((name) => changeBetween(before(name), after(name)));
  const removed = changes.map((change) => change.removed).reduce(unionOf);
  return {
    removed: LISTS_OF[half].reduce((left, name) => without(left, after(name)), removed),
    added: changes.map((change) => change.added).reduce(unionOf),
  };
};

/** Stores the names of what is listed, for the process that builds. */
export class ListNames {
  /** The lists whose names are stored, but for the backlog; undefined if that is not known. */
  private named: BuiltLists['lists'] | undefined;
  /** The lists of which all other names are unlisted; undefined if that is not known. */
  private kept: BuiltLists['lists'] | undefined;
  private backlog: readonly { readonly half: Half; readonly hashes: Uint8Array }[] = [];

  constructor(private readonly pool: Pool) {}

  /** Called when another process may have stored names, or when what was stored was not published. */
  reset(): void {
    this.named = undefined;
    this.kept = undefined;
  }

  /**
   * Stores the names of what a build adds, before the version is published, so that whoever sees the version finds the
   * names. Those of a first list follow during the next calls.
   * @param served the lists that are published
   * @throws the database's error; the next call then compares all names
   */
  async store(built: BuiltLists, served: readonly ServedList[]): Promise<void> {
    const before = this.named;
    const areNamed = served.every(({ head }) => head?.hasNames === true);
    if (built.lists === before && this.backlog.length === 0 && areNamed) return;
    this.named = undefined;
    // A version of before local lists does not know the names when it redacts.
    if (before === undefined) await forgetNames(this.pool);
    const after = inLists(built.lists);
    const published: HashesOf = (name) => served.find((each) => each.name === name)?.current?.hashes ?? EMPTY;
    if (before === undefined)
      this.backlog = HALVES.flatMap((half) => LISTS_OF[half].map((name) => ({ half, hashes: after(name) })));
    if (before !== undefined || areNamed)
      for (const half of HALVES)
        await this.name(built, half, changeOf(half, before === undefined ? published : inLists(before), after).added);
    await this.reduceBacklog(built);
    // Repeated until the lists say so, because the names of a first list may be stored before the list is.
    if (!areNamed && this.backlog.length === 0) await MARK_NAMED.run(this.pool, {});
    this.named = built.lists;
  }

  /**
   * Unlists the names of what a published version no longer has. Not before it is published: a process that has lost the
   * lease would unlist names of versions that it does not know.
   * @throws the database's error; the next call then compares all names
   */
  async unlistOthers({ lists }: BuiltLists): Promise<void> {
    const before = this.kept;
    this.kept = undefined;
    for (const half of HALVES)
      if (before !== undefined) await this.unlist(half, changeOf(half, inLists(before), inLists(lists)).removed);
      else {
        const listed = Buffer.concat(LISTS_OF[half].map(inLists(lists)));
        const others = await OTHER_NAMES.run(this.pool, { hashes: listed, isAsk: half === 'ask' });
        await this.unlist(half, Buffer.concat(others.map((row) => row.hash)));
      }
    this.kept = lists;
  }

  private async reduceBacklog(built: BuiltLists): Promise<void> {
    if (this.backlog.length === 0) return;
    let bytes = HASHES_AT_ONCE * HASH_BYTES;
    const left: { half: Half; hashes: Uint8Array }[] = [];
    for (const { half, hashes } of this.backlog) {
      await this.name(built, half, hashes.subarray(0, bytes));
      if (hashes.length > bytes) left.push({ half, hashes: hashes.subarray(bytes) });
      bytes = Math.max(0, bytes - hashes.length);
    }
    this.backlog = left;
  }

  private async name(built: BuiltLists, half: Half, hashes: Uint8Array): Promise<void> {
    if (hashes.length === 0) return;
    const isAsk = half === 'ask';
    const missing = await NAMELESS_HASHES.run(this.pool, { hashes: bufferOf(hashes), isAsk });
    if (missing.length === 0) return;
    const found = await built.namesOf(
      half,
      missing.map((row) => row.hash),
    );
    const isException = ({ exceptionHost }: ExpressionName): boolean => exceptionHost !== undefined;
    const names = [...found.filter(isException), ...found.filter((name) => !isException(name))];
    const yielding = new CooperativeYield();
    for (let from = 0; from < names.length; from += NAMES_AT_ONCE) {
      const rows = names.slice(from, from + NAMES_AT_ONCE).map((name) => ({ ...name, hash: hashOf(name.expression) }));
      await ADD_NAMES.runEach(this.pool, rows, { isAsk });
      if (yielding.isDue()) await yielding.yieldNow();
    }
  }

  private async unlist(half: Half, hashes: Uint8Array): Promise<void> {
    const bytes = NAMES_AT_ONCE * HASH_BYTES;
    for (let from = 0; from < hashes.length; from += bytes) {
      const some = bufferOf(hashes.subarray(from, from + bytes));
      await UNLIST_NAMES.run(this.pool, { hashes: some, isAsk: half === 'ask' });
    }
  }
}

/** Returns the hash that lists have of an expression. */
const hashOf = (expression: string): Buffer => hash('sha256', expression, 'buffer').subarray(0, HASH_BYTES);

import type { Pool } from 'pg';
import { formatInstant, MS_PER_DAY } from '../events/instant.js';
import { limit } from '../limits.js';
import { expiringRows } from '../read-models/expiry.js';
import { type Connection, CLOCK, json, nullable, statement } from '../postgres/statement.js';
import { inTransaction } from '../postgres/transaction.js';
import { type BuiltLists, LIST_NAMES, type ListName } from './built-lists.js';
import { bufferOf, type Change } from './sorted-hashes.js';

/** How long changes are kept, in days. MetaMask's controller reads a whole list every 30 days. */
export const KEPT_DAYS = 31;

/** What the lists do not contain, and why. */
type NotCovered = BuiltLists['notCovered'];

/** The newest version of each list that was ever built. */
export const READ_LISTS = statement(
  'lists-read',
  {},
  {
    name: 'text',
    number: 'bigint',
    sha256: 'bytea',
    covers: json<readonly string[]>(),
    notCovered: json<NotCovered>(),
    cutAt: 'bigint',
    signature: nullable('bytea'),
    publicKey: nullable('text'),
    /** Whether the names of what is listed are stored. */
    hasNames: 'boolean',
    /** Since the version was last found to be current, in ms. */
    ageMs: 'bigint',
  },
  `
    select name, number, sha256, covers, not_covered as "notCovered", cut_at as "cutAt", signature, public_key as "publicKey",
      has_names as "hasNames", greatest(${CLOCK} - checked_at, 0) as "ageMs"
    from service.lists`,
);

/** The newest version with all its hashes. */
export const READ_WHOLE_LIST = statement(
  'lists-read-whole',
  { name: 'text' },
  { number: 'bigint', hashes: nullable('bytea') },
  `
    select number, hashes from service.list_versions
    where name = :name and hashes is not null order by number desc limit 1`,
);

const ROW_BYTES = 128;
const SIZE = `${ROW_BYTES} + octet_length(removed) + octet_length(added)`;
/** The first of the newest versions that together take at most this many bytes. */
export const FIRST_OF_NEWEST = statement(
  'lists-first-of-newest',
  { name: 'text', maxBytes: 'bigint' },
  { number: nullable('bigint') },
  `
    select min(number) as number from (
      select number, sum(${SIZE}) over (order by number desc rows unbounded preceding) as bytes
      from (
        select * from service.list_versions where name = :name order by number desc limit :maxBytes / ${ROW_BYTES}
      ) v
    ) newest where bytes <= :maxBytes`,
);

/** The versions after one up to another, in order: at least one, and at most about `maxBytes`. */
export const READ_LIST_VERSIONS = statement(
  'lists-read-versions',
  { name: 'text', after: 'bigint', upTo: 'bigint', limit: 'integer', maxBytes: 'bigint' },
  { number: 'bigint', sha256: 'bytea', removed: 'bytea', added: 'bytea' },
  `
    select number, sha256, removed, added from (
      select *, sum(${SIZE}) over in_order as bytes, row_number() over in_order as nth
      from (
        select * from service.list_versions where name = :name and number > :after and number <= :upTo
        order by number limit :limit
      ) v
      window in_order as (order by number rows unbounded preceding)
    ) sized where nth = 1 or bytes <= :maxBytes order by number`,
);

/** The most versions of a response for MetaMask. */
const MAX_VERSIONS = limit('versions in a response for MetaMask', 1_000, 'versions', 'request', 'the oldest are sent');
/**
 * The versions of two lists from an instant on, oldest first: those of one publication together, and at most about `maxBytes`
 * unless the first ones take more.
 */
export const VERSIONS_SINCE = statement(
  'lists-read-since',
  { names: 'text[]', from: 'bigint', maxBytes: 'bigint' },
  { name: 'text', cutAt: 'bigint', removed: 'bytea', added: 'bytea' },
  `
    select name, cut_at as "cutAt", removed, added from (
      select *, sum(octet_length(removed) + octet_length(added)) over in_order as bytes, rank() over in_order as nth
      from (
        select * from service.list_versions where cut_at >= :from and name = any(:names)
        order by cut_at fetch first ${MAX_VERSIONS} rows with ties
      ) v
      window in_order as (order by cut_at range unbounded preceding)
    ) sized where nth = 1 or bytes <= :maxBytes order by cut_at, name`,
);

export const ADD_LISTS = statement(
  'lists-add',
  { names: 'text[]', sha256: 'bytea' },
  `
    insert into service.lists (name, number, sha256, covers, not_covered, cut_at, checked_at)
    select name, 0, :sha256, '[]', '[]', 0, 0 from unnest(:names) name order by name on conflict do nothing`,
);

/**
 * Moves a list on, if it still has the version and the instant that the new version was made from: another process may have
 * signed the same version later.
 */
export const MOVE_LIST = statement(
  'lists-move',
  {
    name: 'text',
    from: 'bigint',
    fromSha256: 'bytea',
    fromCutAt: 'bigint',
    number: 'bigint',
    sha256: 'bytea',
    covers: 'json',
    notCovered: 'json',
    cutAt: 'bigint',
    signature: nullable('bytea'),
    publicKey: nullable('text'),
  },
  { number: 'bigint' },
  `
    update service.lists set number = :number, sha256 = :sha256, covers = :covers, not_covered = :notCovered,
      cut_at = :cutAt, signature = :signature, public_key = :publicKey, checked_at = ${CLOCK}
    where name = :name and number = :from and sha256 = :fromSha256 and cut_at = :fromCutAt returning number`,
);

export const ADD_LIST_VERSION = statement(
  'lists-add-version',
  {
    name: 'text',
    number: 'bigint',
    cutAt: 'bigint',
    sha256: 'bytea',
    removed: 'bytea',
    added: 'bytea',
    hashes: nullable('bytea'),
  },
  `
    insert into service.list_versions (name, number, cut_at, sha256, removed, added, hashes)
    values (:name, :number, :cutAt, :sha256, :removed, :added, :hashes)`,
);

export const DROP_LIST_VERSIONS = statement(
  'lists-drop-versions',
  { name: 'text' },
  'delete from service.list_versions where name = :name',
);

export const DROP_OLDER_HASHES = statement(
  'lists-drop-older-hashes',
  { name: 'text', number: 'bigint' },
  'update service.list_versions set hashes = null where name = :name and number < :number and hashes is not null',
);

/** How many bytes the versions since the last whole list take. */
export const BYTES_SINCE_WHOLE = statement(
  'lists-bytes-since-whole',
  { name: 'text', number: 'bigint' },
  { bytes: 'bigint', hasWhole: 'boolean' },
  `
    select coalesce(sum(${SIZE}), 0) as bytes, coalesce(bool_or(hashes is not null), false) as "hasWhole"
    from service.list_versions
    where name = :name and number <= :number and number >= coalesce((
      select max(number) from service.list_versions where name = :name and hashes is not null), 0)`,
);

/** The versions that no client can ask for any more. A whole list, and the versions after it, are kept. */
export const OLD_LIST_VERSIONS = expiringRows({
  name: 'versions of lists',
  table: 'service.list_versions',
  where: `t.cut_at < (select ${CLOCK}) - ${KEPT_DAYS * MS_PER_DAY} and exists (
    select from service.list_versions whole where whole.name = t.name and whole.number > t.number and whole.hashes is not null)`,
});

export interface NewVersion extends Change {
  readonly name: ListName;
  /** The version that the change was computed from. */
  readonly from: { readonly number: number; readonly sha256: Buffer; readonly cutAt: number };
  readonly sha256: Buffer;
  readonly cutAt: number;
  readonly signature: Buffer | null;
  readonly hashes: Uint8Array;
  /** Whether the stored versions are broken: they are deleted, and the list is stored whole. */
  readonly isReplaced: boolean;
}

/** Another process has published or signed a version, or the database was restored. */
export class VersionMoved extends Error {}

/** A whole list is stored again when the changes since then take this many bytes, or half of its own. */
const MIN_BYTES_BETWEEN_WHOLE = 256 * 1024;

const isWholeDue = async (connection: Connection, { name, from, hashes }: NewVersion): Promise<boolean> => {
  const [since] = await BYTES_SINCE_WHOLE.run(connection, { name, number: from.number });
  return !since!.hasWhole || since!.bytes > Math.max(MIN_BYTES_BETWEEN_WHOLE, hashes.length / 2);
};

/** Adds the lists that are missing, as version 0, which is empty. @param sha256 the checksum of an empty list */
export const addLists = (connection: Connection, sha256: Buffer): Promise<unknown> =>
  ADD_LISTS.run(connection, { names: [...LIST_NAMES], sha256 });

/** Whether a version only says that the list of before is current. */
export const isUnchanged = ({ from, sha256, isReplaced }: NewVersion): boolean =>
  !isReplaced && from.number > 0 && sha256.equals(from.sha256);

/**
 * Stores one version of each list or none, if every list still has the version and instant that its new version was made from.
 * Versions without a change only store what is covered and that they are current.
 * @throws VersionMoved otherwise
 */
export const storeVersions = (
  pool: Pool,
  versions: readonly NewVersion[],
  { covers, notCovered }: Omit<BuiltLists, 'lists'>,
  publicKey: string | null,
): Promise<void> =>
  inTransaction(pool, async (connection) => {
    // Every process locks the lists in the same order.
    for (const version of versions.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const { name, from, sha256, removed, added, cutAt, signature, hashes, isReplaced } = version;
      const number = isUnchanged(version) ? from.number : from.number + 1;
      const moved = await MOVE_LIST.run(connection, {
        name,
        from: from.number,
        fromSha256: from.sha256,
        fromCutAt: from.cutAt,
        number,
        sha256,
        covers: JSON.stringify(covers),
        notCovered: JSON.stringify(notCovered),
        cutAt,
        signature,
        publicKey,
      });
      if (moved.length === 0)
        throw new VersionMoved(`The list ${name} no longer has version ${from.number} of ${formatInstant(from.cutAt)}`);
      if (number === from.number) continue;
      // The row of the list may have been deleted by hand, but not its versions.
      if (isReplaced || from.number === 0) await DROP_LIST_VERSIONS.run(connection, { name });
      const isWhole = await isWholeDue(connection, version);
      await ADD_LIST_VERSION.run(connection, {
        name,
        number,
        cutAt,
        sha256,
        removed: bufferOf(removed),
        added: bufferOf(added),
        hashes: isWhole ? bufferOf(hashes) : null,
      });
      if (isWhole) await DROP_OLDER_HASHES.run(connection, { name, number });
    }
  });

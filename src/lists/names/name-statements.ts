import type { Pool } from 'pg';
import { MS_PER_DAY } from '../../events/instant.js';
import { expiringRows } from '../../read-models/expiry.js';
import { CLOCK, nullable, statement } from '../../postgres/statement.js';
import { inTransaction } from '../../postgres/transaction.js';
import { KEPT_DAYS } from '../list-versions.js';
import { HASH_BYTES } from '../sorted-hashes.js';

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

/** Deletes the names of own statuses whose asset is not named any more. */
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
  where: `t.unlisted_at < (select ${CLOCK}) - ${KEPT_DAYS * MS_PER_DAY}`,
});

/** The names of these hashes, also of those that are not listed any more. */
export const NAMES_OF = statement(
  'list-names-of',
  { hashes: 'bytea', isAsk: 'boolean' },
  { hash: 'bytea', expression: 'text', exceptionHost: nullable('text') },
  `
    select distinct n.hash, n.expression, reverse(n.exception_host) as "exceptionHost" from ${HASHES} h
    join service.list_names n on n.hash = h.hash and n.is_ask = :isAsk`,
);

/** A page of all listed names, by hash. */
export const NAMES_AFTER = statement(
  'list-names-after',
  { hash: 'bytea', isAsk: 'boolean', limit: 'integer' },
  { hash: 'bytea', isAsk: 'boolean', expression: 'text', exceptionHost: nullable('text') },
  `
    select hash, is_ask as "isAsk", expression, reverse(exception_host) as "exceptionHost" from service.list_names
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

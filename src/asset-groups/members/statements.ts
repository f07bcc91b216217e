import { nullable, statement } from '../../postgres/statement.js';

/** The estimated size in bytes of a row whose asset is only in the log. */
const UNKNOWN_SIZE = 1_024;

/**
 * A page of the members of a group. Members are ordered by the hash of the asset, the only property of a member that no
 * event changes, so that consecutive pages are consistent even if the group changes in between. Rows beyond `maxBytes`
 * of content are not sent. To find these rows, PostgreSQL need not read the contents, because the length of a content
 * is stored with the row. `bytes` is the total size of the contents of this row and all rows before it.
 */
export const READ_MEMBERS = statement(
  'asset-groups-members',
  { organization: 'text', groupId: 'bigint', after: 'text', limit: 'bigint', maxBytes: 'bigint' },
  {
    hash: 'text',
    type: nullable('text'),
    content: nullable('text'),
    version: 'bigint',
    eventId: 'uuid',
    bytes: 'bigint',
  },
  `
    select hash, type, content, version, "eventId", bytes
    from (
      select asset as hash, type, content, version, event_id as "eventId", row_bytes,
        sum(row_bytes) over (order by asset) as bytes
      from (
        select asset, type, content, version, event_id, coalesce(octet_length(content), ${UNKNOWN_SIZE}) as row_bytes
        from read.grouped_assets
        where organization = $1 and group_id = $2 and asset > $3
        order by asset
        limit $4
      ) next
    ) sized
    where bytes - row_bytes < $5
    order by hash`,
);

/**
 * The group and the version of each asset that was ever in a group. `groupId` is null if the asset is currently in no
 * group.
 */
export const READ_PLACEMENTS = statement(
  'asset-groups-placements',
  { organization: 'text', hashes: 'text[]' },
  { hash: 'text', groupId: nullable('bigint'), version: 'bigint' },
  `
    select a.asset as hash, g.group_id as "groupId", a.version
    from read.grouped_assets a
    left join read.asset_groups g
      on g.organization = a.organization and g.group_id = a.group_id and g.name is not null
    where a.organization = $1 and a.asset = any($2::text[])`,
);

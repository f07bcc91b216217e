import { CLOCK } from '../../postgres/statements.js';
import { json, nullable, statement } from '../../postgres/statement.js';
import { positionOf } from '../../read-models/checkpoints/position-sql.js';

const POSITION = positionOf('asset-groups');

interface KnownResponse {
  readonly keyHash: string;
  readonly bodyHash: string;
  readonly groupId: number | null;
  readonly answeredAt: number;
}

type AssetCounts = readonly (readonly [groupId: number, n: number])[];

/**
 * The groups with these names or ids, and the responses to requests with these keys. Each part is an index lookup, so the
 * cost does not depend on the number of groups.
 */
export const KNOWN_GROUPS = statement(
  'asset-groups-known',
  { organization: 'text', names: 'text[]', groupIds: 'bigint[]', keyHashes: 'text[]' },
  {
    now: 'bigint',
    position: 'bigint',
    revision: nullable('bigint'),
    last_group_id: nullable('bigint'),
    groups: nullable(json<readonly { readonly id: number; readonly name: string }[]>()),
    answers: nullable(json<readonly KnownResponse[]>()),
    assets: nullable(json<AssetCounts>()),
  },
  `
    select ${CLOCK} as now, ${POSITION} as position, s.revision, s.last_group_id,
      (select json_agg(json_build_object('id', g.group_id, 'name', g.name))
       from (
         select group_id, name from read.asset_groups
         where organization = $1 and name = any($2::text[]) and name is not null
         union
         select group_id, name from read.asset_groups
         where organization = $1 and group_id = any($3::bigint[]) and name is not null
       ) g) as groups,
      (select json_agg(json_build_object(
         'keyHash', key_hash, 'bodyHash', body_hash, 'groupId', group_id, 'answeredAt', answered_at))
       from read.asset_group_requests
       where organization = $1 and key_hash = any($4::text[])) as answers,
      (select json_agg(json_build_array(group_id, n))
       from read.asset_group_counts
       where organization = $1 and group_id = any($3::bigint[])) as assets
    from (values ($1::text)) requested (organization) left join read.asset_group_streams s using (organization)`,
);

/**
 * The groups after an id in one snapshot. The last row is the row that reaches `maxBytes`, or the last group within
 * `maxRows`. If there are no groups, the result is one row with null columns. Each row has the position and the
 * revision that the read model has reached.
 */
export const READ_GROUPS = statement(
  'asset-groups-read',
  { organization: 'text', after: 'bigint', maxRows: 'bigint', maxBytes: 'bigint' },
  {
    position: 'bigint',
    revision: nullable('bigint'),
    id: nullable('bigint'),
    name: nullable('text'),
    n: nullable('bigint'),
    /** The size in bytes of this row and all earlier rows. */
    bytes: nullable('bigint'),
  },
  `
    select at.position, s.revision, g.id, g.name, g.n, g.bytes
    from (select $1::text as organization, ${POSITION} as position) at left join read.asset_group_streams s using (organization)
    left join lateral (
      select sized.group_id as id, sized.name, c.n, sized.bytes
      from (
        select group_id, name, row_bytes, sum(row_bytes) over (order by group_id) as bytes
        from (
          select group_id, name, octet_length(name) + 48 as row_bytes from read.asset_groups
          where organization = $1 and group_id > $2 and name is not null
          order by group_id limit $3
        ) next
      ) sized
      left join read.asset_group_counts c on c.organization = $1 and c.group_id = sized.group_id
      where sized.bytes - sized.row_bytes < $4::bigint
    ) g on true
    order by g.id`,
);

/** Reads the number of assets of each group. A group without assets has no row. */
export const READ_COUNTS = statement(
  'asset-groups-counts',
  { organization: 'text', ids: 'bigint[]' },
  { id: 'bigint', n: 'bigint' },
  `
    select group_id as id, n
    from read.asset_group_counts
    where organization = $1 and group_id = any($2::bigint[])`,
);

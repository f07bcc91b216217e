import { REDACTED } from '../../src/events/redacted.js';
import { statement } from '../../src/postgres/statement.js';
import { storeNewest } from '../store-newest.js';

export const STORE_STREAMS = statement(
  'asset-groups-store-streams',
  { organization: 'text[]', revision: 'bigint[]', lastGroupId: 'bigint[]', latestAt: 'bigint[]' },
  {},
  `
    insert into asset_group_streams as s (organization, revision, last_group_id, latest_at)
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
    on conflict (organization) do update set
      revision = greatest(s.revision, excluded.revision),
      last_group_id = greatest(s.last_group_id, excluded.last_group_id),
      latest_at = greatest(s.latest_at, excluded.latest_at)`,
);

export const STORE_GROUPS = storeNewest(
  'asset-groups-store-groups',
  'asset_groups',
  { organization: 'text', groupId: 'bigint', name: 'text', revision: 'bigint' },
  { key: ['organization', 'groupId'], orderBy: 'revision' },
);

export const STORE_RESPONSES = storeNewest(
  'asset-groups-store-responses',
  'asset_group_requests',
  {
    organization: 'text',
    idempotencyKeyHash: 'text',
    bodyHash: 'text',
    groupId: 'bigint',
    answeredAt: 'bigint',
    revision: 'bigint',
  },
  { key: ['organization', 'idempotencyKeyHash'], orderBy: 'revision', names: { idempotencyKeyHash: 'key_hash' } },
);

export const DELETE_EXPIRED_RESPONSES = statement(
  'asset-groups-delete-expired-responses',
  { organizations: 'text[]', keptMs: 'bigint' },
  {},
  `
    delete from asset_group_requests r using asset_group_streams s
    where s.organization = any($1::text[]) and r.organization = s.organization
      and r.answered_at <= s.latest_at - $2::bigint`,
);

/** Redacts the contents of members. A member stays in its group. */
export const REDACT_ASSETS = statement(
  'asset-groups-redact-assets',
  { organization: 'text[]', assetHash: 'text[]' },
  {},
  `
    update grouped_assets a set content = '${REDACTED}'
    from unnest($1::text[], $2::text[]) i (organization, asset)
    where a.organization = i.organization and a.asset = i.asset and a.content is not null`,
);

/**
 * Stores assets and updates the counts of their groups. The previous group of each asset is read once by key, because a
 * join of stored rows with previous rows would be a nested loop, whose cost grows with the square of the batch size.
 */
export const STORE_ASSETS = statement(
  'asset-groups-store-assets',
  {
    organization: 'text[]',
    assetHash: 'text[]',
    groupId: 'bigint[]',
    version: 'bigint[]',
    eventId: 'uuid[]',
    type: 'text[]',
    content: 'text[]',
  },
  {},
  `
    with newer as materialized (
      select i.*, known.group_id as old_group_id
      from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[], $6::text[], $7::text[])
        as i (organization, asset, group_id, version, event_id, type, content)
        left join lateral (
          select a.group_id, a.version, a.event_id from grouped_assets a
          where a.organization = i.organization and a.asset = i.asset limit 1
        ) known on true
      where known.version is null or (known.version, known.event_id) < (i.version, i.event_id)
    ), stored as (
      insert into grouped_assets (organization, asset, group_id, version, event_id, type, content)
      select organization, asset, group_id, version, event_id, type, content from newer
      on conflict (organization, asset) do update set
        group_id = excluded.group_id, version = excluded.version, event_id = excluded.event_id,
        type = excluded.type, content = excluded.content
    ), difference as (
      select organization, group_id, sum(n)::bigint as n
      from (
        select organization, group_id, 1 as n from newer
        union all
        select organization, old_group_id, -1 from newer
      ) changes
      where group_id is not null
      group by organization, group_id
      having sum(n) <> 0
    )
    merge into asset_group_counts c
    using difference d on c.organization = d.organization and c.group_id = d.group_id
    when matched and c.n + d.n = 0 then delete
    when matched then update set n = c.n + d.n
    when not matched then insert (organization, group_id, n) values (d.organization, d.group_id, d.n)`,
);

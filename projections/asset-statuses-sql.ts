export const READ_ENTRIES = {
  name: 'asset-statuses-read-entries',
  text: `
    select change_id as "changeId", asset_hash as "assetHash", asset, status, version, event_id as "eventId", reviews
    from asset_status_entries where change_id = any($1::text[])`,
};

export const STORE_ENTRIES = {
  name: 'asset-statuses-store-entries',
  text: `
    insert into asset_status_entries as e (change_id, asset_hash, asset, status, version, event_id, reviews)
    select change_id, asset_hash, asset, status, version, event_id, string_to_array(reviews, ',')
    from unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::uuid[], $7::text[])
      i (change_id, asset_hash, asset, status, version, event_id, reviews)
    on conflict (change_id) do update
      set asset_hash = excluded.asset_hash, asset = excluded.asset, status = excluded.status,
          version = excluded.version, event_id = excluded.event_id, reviews = excluded.reviews
      where (excluded.version, excluded.event_id) > (e.version, e.event_id)`,
};

export const STORE_STATUSES = {
  name: 'store-asset-statuses',
  text: `
    insert into asset_statuses as s (asset_hash, asset, status, created_at, position)
    select t.asset_hash, t.asset, coalesce(newest.status, 'UNKNOWN'), newest.version / 2, t.position
    from unnest($1::text[], $2::text[], $3::bigint[]) t (asset_hash, asset, position)
    left join lateral (
      select e.status, e.version from asset_status_entries e
      where e.asset_hash = t.asset_hash and e.status is not null
      order by e.version desc, e.event_id desc limit 1
    ) newest on true
    on conflict (asset_hash) do update
      set status = excluded.status, created_at = excluded.created_at,
          position = greatest(s.position, excluded.position)`,
};

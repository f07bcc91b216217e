export const STORE_STREAMS = {
  name: 'asset-groups-store-streams',
  text: `
    insert into asset_group_streams as s (organization, revision, last_group_id, latest_at)
    select * from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[])
    on conflict (organization) do update set
      revision = greatest(s.revision, excluded.revision),
      last_group_id = greatest(s.last_group_id, excluded.last_group_id),
      latest_at = greatest(s.latest_at, excluded.latest_at)`,
};

export const STORE_GROUPS = {
  name: 'asset-groups-store-groups',
  text: `
    insert into asset_groups as g (organization, group_id, name, revision)
    select * from unnest($1::text[], $2::bigint[], $3::text[], $4::bigint[])
    on conflict (organization, group_id) do update set name = excluded.name, revision = excluded.revision
    where g.revision < excluded.revision`,
};

export const STORE_ANSWERS = {
  name: 'asset-groups-store-answers',
  text: `
    insert into asset_group_requests as r (organization, key_hash, body_hash, group_id, answered_at, revision)
    select * from unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::bigint[], $6::bigint[])
    on conflict (organization, key_hash) do update set
      body_hash = excluded.body_hash, group_id = excluded.group_id,
      answered_at = excluded.answered_at, revision = excluded.revision
    where r.revision < excluded.revision`,
};

export const FORGET_ANSWERS = {
  name: 'asset-groups-forget-answers',
  text: `
    delete from asset_group_requests r using asset_group_streams s
    where s.organization = any($1::text[]) and r.organization = s.organization
      and r.answered_at <= s.latest_at - $2::bigint`,
};

export const STORE_ASSETS = {
  name: 'asset-groups-store-assets',
  text: `
    with incoming as materialized (
      select * from unnest($1::text[], $2::text[], $3::bigint[], $4::bigint[], $5::uuid[], $6::text[], $7::text[])
        as i (organization, asset, group_id, version, event_id, type, content)
    ), old as materialized (
      select a.organization, a.asset, a.group_id from incoming i join grouped_assets a using (organization, asset)
    ), moved as (
      insert into grouped_assets as a (organization, asset, group_id, version, event_id, type, content)
      select organization, asset, group_id, version, event_id, type, content from incoming
      on conflict (organization, asset) do update set
        group_id = excluded.group_id, version = excluded.version, event_id = excluded.event_id,
        type = excluded.type, content = excluded.content
      where (a.version, a.event_id) < (excluded.version, excluded.event_id)
      returning a.organization, a.asset, a.group_id
    ), difference as (
      select organization, group_id, sum(n)::bigint as n
      from (
        select organization, group_id, 1 as n from moved
        union all
        select o.organization, o.group_id, -1 from old o join moved using (organization, asset)
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
};

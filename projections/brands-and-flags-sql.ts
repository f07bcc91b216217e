export const STORE_BRANDS = {
  name: 'brands-store',
  text: `
    insert into brands as b (organization, brand, registered, version, event_id, name)
    select * from unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::uuid[], $6::text[])
    on conflict (organization, brand) do update
      set registered = excluded.registered, version = excluded.version, event_id = excluded.event_id, name = excluded.name
      where (excluded.version, excluded.event_id) > (b.version, b.event_id)`,
};

export const STORE_FLAGS = {
  name: 'feature-flags-store',
  text: `
    insert into feature_flags as f (organization, flag, enabled, version, event_id)
    select organization, flag, enabled, version, event_id
    from unnest($1::text[], $2::text[], $3::boolean[], $4::bigint[], $5::uuid[], $6::text[])
      i (organization, flag, enabled, version, event_id, unused)
    on conflict (organization, flag) do update
      set enabled = excluded.enabled, version = excluded.version, event_id = excluded.event_id
      where (excluded.version, excluded.event_id) > (f.version, f.event_id)`,
};

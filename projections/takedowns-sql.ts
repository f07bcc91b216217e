import { MS_PER_DAY } from '../src/events/instant.js';

const DAY = `floor(at / ${MS_PER_DAY}.0)::int`;

/**
 * Stores what is newer than what is known, and moves its counts from where they were to where they are: the
 * organization's to the day of creation, a brand's to that of the last change. What it counted as before is read here;
 * nobody else can write meanwhile, for whoever holds the checkpoint is alone.
 */
export const STORE_TAKEDOWNS = {
  name: 'takedowns-store',
  text: `
    with given as materialized (
      select i.*, t.version as was_version, t.event_id as was_event_id, t.brand as was_brand, t.outcome as was_outcome,
        t.created_at as was_created_at, t.updated_at as was_updated_at
      from unnest($1::text[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::smallint[], $8::bigint[],
          $9::bigint[])
        i (organization, id, version, event_id, brand, type, outcome, created_at, updated_at)
        left join lateral (
          select * from takedowns t where t.organization = i.organization and t.id = i.id limit 1
        ) t on true
    ), newer as materialized (
      select * from given where was_version is null or (version, event_id) > (was_version, was_event_id)
    ), stored as (
      insert into takedowns (organization, id, version, event_id, brand, type, outcome, created_at, updated_at)
      select organization, id, version, event_id, brand, type, outcome, created_at, updated_at from newer
      on conflict (organization, id) do update
        set version = excluded.version, event_id = excluded.event_id, brand = excluded.brand, type = excluded.type,
            outcome = excluded.outcome, created_at = excluded.created_at, updated_at = excluded.updated_at
    ), changes as (
      select organization, brand, ${DAY} as day, outcome, sum(n) as n from (
        select organization, '' as brand, created_at as at, outcome, 1 as n from newer
        union all select organization, brand, updated_at, outcome, 1 from newer where brand <> ''
        union all select organization, '', was_created_at, was_outcome, -1 from newer
        union all select organization, was_brand, was_updated_at, was_outcome, -1 from newer where was_brand <> ''
      ) each where outcome is not null
      group by 1, 2, 3, 4 having sum(n) <> 0
    )
    merge into takedown_days d using changes c
    on d.organization = c.organization and d.brand = c.brand and d.day = c.day and d.outcome = c.outcome
    when matched and d.n + c.n = 0 then delete
    when matched then update set n = d.n + c.n
    when not matched then insert (organization, brand, day, outcome, n)
      values (c.organization, c.brand, c.day, c.outcome, c.n)`,
};

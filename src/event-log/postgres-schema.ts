import { sql, type Kysely, type Migration } from 'kysely';

/**
 * The log's own schema, apart from the read models, which may be dropped.
 *
 * `log.append` is one statement for its caller and several for PostgreSQL: the lock comes first, so every later one
 * sees all that was committed under it. That makes the order of positions the order of commits: a reader that asks
 * for "position > last" misses nothing.
 */
const firstTables: Migration = {
  up: async (db: Kysely<unknown>): Promise<void> => {
    await sql`
      create table log.events (
        position bigint primary key,
        stream text collate "C" not null,
        revision bigint not null,
        event_id uuid not null unique,
        type text not null,
        data json not null,
        metadata json not null,
        recorded_at bigint not null,
        unique (stream, revision)
      )`.execute(db);
    await sql`
      create function log.append(
        requests int[], streams text[], expected bigint[], ids uuid[], types text[], data text[], metadata text[]
      ) returns table (outcome text, "position" bigint, revision bigint, stream_revision bigint)
      language plpgsql set plan_cache_mode = force_generic_plan as $$
      #variable_conflict use_column
      declare
        last_position bigint;
        clock bigint;
      begin
        perform pg_advisory_xact_lock(20261121);
        select coalesce(max(e.position), -1) into last_position from log.events e;
        clock := floor(extract(epoch from clock_timestamp()) * 1000);
        return query
        with input as materialized (
          select i.*, row_number() over (partition by i.id order by i.ordinal) = 1 as first
          from unnest(requests, streams, expected, ids, types, data, metadata)
            with ordinality i (request, stream, expected, id, type, data, metadata, ordinal)
        ), known as materialized (
          select i.ordinal, e.position, e.revision, e.stream
          from input i
            cross join lateral (
              select e.position, e.revision, e.stream from log.events e where e.event_id = i.id limit 1
            ) e
        ), heads as materialized (
          select s.stream,
            coalesce((select max(e.revision) from log.events e where e.stream = s.stream), -1) as revision
          from (select distinct i.stream from input i) s
        ), decided as materialized (
          select i.request,
            case
              when bool_and(k.ordinal is not null and k.stream = i.stream) then 'duplicate'
              when max(i.expected) is null then 'append'
              when max(i.expected) = max(h.revision) and count(k.ordinal) = 0 then 'append'
              else 'conflict'
            end as decision
          from input i join heads h on h.stream = i.stream left join known k on k.ordinal = i.ordinal
          group by i.request
        ), stored as (
          insert into log.events (position, stream, revision, event_id, type, data, metadata, recorded_at)
          select
            last_position + row_number() over (order by i.ordinal),
            i.stream,
            h.revision + row_number() over (partition by i.stream order by i.ordinal),
            i.id, i.type, i.data::json, i.metadata::json, clock
          from input i join decided d on d.request = i.request join heads h on h.stream = i.stream
          where d.decision = 'append' and i.first
            and not exists (select 1 from known k where k.ordinal = i.ordinal)
          returning event_id, position, revision
        )
        select
          case
            when d.decision = 'append' and s.position is not null and i.first then 'appended'
            when d.decision = 'conflict' then 'conflict'
            else 'duplicate'
          end,
          coalesce(s.position, k.position),
          coalesce(s.revision, k.revision),
          h.revision
        from input i
          join decided d on d.request = i.request
          join heads h on h.stream = i.stream
          left join known k on k.ordinal = i.ordinal
          left join stored s on s.event_id = i.id
        order by i.ordinal;
      end
      $$`.execute(db);
  },
};

export const LOG_MIGRATIONS: Record<string, Migration> = { '0001-first-tables': firstTables };

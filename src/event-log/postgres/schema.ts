import { sql, type Kysely, type Migration } from 'kysely';

/**
 * The schema of the log. This schema is separate from that of the read models, because an operator may drop the read
 * models.
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
  },
};

/**
 * Once replaced the append function, which `replaceFunctions` replaces now. The name stays, because databases have
 * recorded it.
 */
const collectIdsInLinearTime: Migration = { up: async () => {} };

/**
 * Lets the log refuse events of erased organizations. The digests are entered under the lock of the log, so no process
 * can append an event of the organization afterwards, not even a process that has not heard of the erasure.
 */
const refuseErasedOrganizations: Migration = {
  up: async (db: Kysely<unknown>): Promise<void> => {
    await sql`
      create table log.erased (
        digest text collate "C" primary key,
        log_id text not null
      )`.execute(db);
    await sql`
      create function log.is_erased(name text) returns boolean language sql stable as $$
        select exists (
          select from (select distinct log_id from log.erased) l
          join log.erased e on e.digest = encode(sha256(convert_to(l.log_id || ':' || name, 'UTF8')), 'hex')
        )
      $$`.execute(db);
    await sql`
      create function log.organizations_of(stream text, type text, data json) returns setof text
      language sql immutable as $$
        select split_part(substr(stream, strpos(stream, '-') + 1), ':', 1)
        where split_part(stream, '-', 1) in (
          'threat', 'takedown', 'report', 'brand', 'featureFlag', 'groupedAsset', 'assetGroups', 'webhooks',
          'disputes', 'dispute'
        )
        union all
        select data ->> 'organization' where type = 'ApiKeyIssued'
        union all
        select review ->> 'organization'
        from json_array_elements(case
          when type = 'AssetStatusChanged' and json_typeof(data -> 'brandReviews') = 'array' then data -> 'brandReviews'
        end) review
      $$`.execute(db);
  },
};

/**
 * The functions that append, each in its newest form only. A later version changes the text here and gets a step of its
 * own with this migration, so a new database gets the newest functions more than once, and an older one gets them at its
 * upgrade. All pending steps are one transaction, so no process sees a log without these functions. Names, parameters and
 * results stay, because processes of the previous version call `log.append` meanwhile.
 *
 * `log.append` takes the lock first, so each of its later statements sees every event that was committed under the
 * lock. Therefore the order of positions is the order of commits, and a reader that asks for "position > last" misses
 * no event. A request with an expected revision succeeds in two cases: all its events are already in the stream, or
 * none of its events is in the log and the stream ends at the expected revision. Otherwise the outcome is a conflict.
 *
 * `log.append_unchecked` stores many entries with one statement if none has an expected revision, and otherwise entry by
 * entry, because the outcome of a request decides about later requests; the statement costs more than it saves below
 * some 16 entries. Both give the same rows and answers.
 *
 * Plans are generic and always use indexes, because plans that depend on statistics could change when the log grows.
 * The statement has subqueries and windows instead of joins, which a generic plan would run as nested loops over all
 * entries.
 */
const replaceFunctions: Migration = {
  up: async (db: Kysely<unknown>): Promise<void> => {
    await sql`
      create or replace function log.append_unchecked(
        requests int[], streams text[], expected bigint[], ids uuid[], types text[], data text[], metadata text[]
      ) returns table (outcome text, "position" bigint, revision bigint, stream_revision bigint)
      language plpgsql set plan_cache_mode = force_generic_plan set enable_seqscan = off as $$
      #variable_conflict use_column
      declare
        last_position bigint;
        clock bigint;
        head bigint;
        wanted uuid[];
        known int;
        known_here int;
        refused boolean := false;
      begin
        perform pg_advisory_xact_lock(20261121);
        select coalesce(max(e.position), -1) into last_position from log.events e;
        clock := floor(extract(epoch from clock_timestamp()) * 1000);
        if cardinality(ids) >= 16 and array_remove(expected, null) = '{}' then
          return query
          with entries as materialized (
            select u.*,
              (select array[e.position, e.revision] from log.events e where e.event_id = u.id) as known,
              (select max(e.revision) from log.events e where e.stream = u.stream) as head
            from unnest(streams, ids, types, data, metadata) with ordinality u (stream, id, type, data, metadata, n)
          ), decided as (
            select *, known is null and row_number() over (partition by id order by n) = 1 as is_new from entries
          ), numbered as materialized (
            select *,
              last_position + count(*) filter (where is_new) over (order by n) as position,
              coalesce(head, -1) + count(*) filter (where is_new) over (partition by stream order by n) as revision
            from decided
          ), inserted as (
            insert into log.events (position, stream, revision, event_id, type, data, metadata, recorded_at)
            select position, stream, revision, id, type, data::json, metadata::json, clock
            from numbered where is_new order by position
          ), answers as (
            -- The first entry of an event is the one that stored it, unless the log knew the event before.
            select n, is_new, coalesce(known[1], first_value(position) over same_id) as position,
              coalesce(known[2], first_value(revision) over same_id) as revision
            from numbered window same_id as (partition by id order by n)
          )
          select case when is_new then 'appended' else 'duplicate' end, position, revision, revision - 1
          from answers order by n;
          return;
        end if;
        for i in 1 .. cardinality(ids) loop
          if i = 1 or requests[i] <> requests[i - 1] then
            refused := false;
            if expected[i] is not null then
              -- All of a conditional request is known, or none of it and its stream is where it was expected.
              select coalesce(max(e.revision), -1) into head from log.events e where e.stream = streams[i];
              wanted := array[ids[i]];
              for j in i + 1 .. cardinality(ids) loop
                exit when requests[j] <> requests[i];
                wanted := wanted || ids[j];
              end loop;
              select array_agg(distinct r.id) into wanted from unnest(wanted) r (id);
              select count(*), count(*) filter (where e.stream = streams[i]) into known, known_here
                from log.events e where e.event_id = any (wanted);
              refused := known_here < cardinality(wanted) and (known > 0 or head <> expected[i]);
            end if;
          end if;
          if refused then
            outcome := 'conflict';
            position := null;
            revision := null;
            stream_revision := head;
            return next;
            continue;
          end if;
          insert into log.events as e (position, stream, revision, event_id, type, data, metadata, recorded_at)
          select
            last_position + 1, streams[i], h.revision + 1, ids[i], types[i], data[i]::json, metadata[i]::json, clock
          from (select coalesce(max(e.revision), -1) as revision from log.events e where e.stream = streams[i]) h
          where not exists (select from log.events e where e.event_id = ids[i])
          returning 'appended', e.position, e.revision, e.revision - 1
            into outcome, position, revision, stream_revision;
          if found then
            last_position := last_position + 1;
          else
            select 'duplicate', e.position, e.revision, e.revision - 1
              into outcome, position, revision, stream_revision
              from log.events e where e.event_id = ids[i];
          end if;
          return next;
        end loop;
      end
      $$`.execute(db);
    await sql`
      create or replace function log.append(
        requests int[], streams text[], expected bigint[], ids uuid[], types text[], data text[], metadata text[]
      ) returns table (outcome text, "position" bigint, revision bigint, stream_revision bigint)
      language plpgsql as $$
      #variable_conflict use_column
      begin
        perform pg_advisory_xact_lock(20261121);
        if exists (select from log.erased) and exists (
          select from unnest(streams, types, data) e (stream, type, data),
            log.organizations_of(e.stream, e.type, e.data::json) o (organization)
          where log.is_erased(o.organization)
        ) then
          raise exception 'An organization of these events was erased' using errcode = 'TP001';
        end if;
        return query select * from log.append_unchecked(requests, streams, expected, ids, types, data, metadata);
      end
      $$`.execute(db);
  },
};

export const LOG_MIGRATIONS: Record<string, Migration> = {
  '0001-first-tables': firstTables,
  '0002-own-ids-only': collectIdsInLinearTime,
  '0003-erased-organizations': refuseErasedOrganizations,
  '0004-set-based-appends': replaceFunctions,
};

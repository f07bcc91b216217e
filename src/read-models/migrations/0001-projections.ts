import { sql, type Kysely } from 'kysely';

export const up = async (db: Kysely<unknown>): Promise<void> => {
  // A checkpoint is rewritten with every batch: the room left in its page keeps that in place.
  await sql`
    create table read.checkpoints (
      projection text collate "C" primary key,
      log_id text not null,
      position bigint not null,
      as_of bigint not null,
      unknown bigint not null default 0
    ) with (fillfactor = 10)`.execute(db);
  await sql`
    create table read.parked_events (
      projection text collate "C" not null,
      event_id uuid not null,
      position bigint not null,
      stream text not null,
      revision bigint not null,
      type text not null,
      data json not null,
      metadata json not null,
      reason text not null,
      attempts integer not null default 1,
      parked_at bigint not null,
      primary key (projection, event_id)
    )`.execute(db);
  await sql`
    create table read.projector_lease (
      singleton boolean primary key default true check (singleton),
      owner text not null,
      epoch bigint not null,
      expires_at bigint not null
    ) with (fillfactor = 10)`.execute(db);
};

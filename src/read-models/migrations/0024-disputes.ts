import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  `create table read.disputes (
    organization text collate "C" not null,
    id text collate "C" not null,
    asset uuid,
    created_at bigint,
    resolved_at bigint,
    outcome text collate "C",
    request_key_hash text collate "C",
    revision bigint,
    filed text collate "C",
    resolution text collate "C",
    primary key (organization, id)
  )`,
  `create index disputes_open on read.disputes (organization, asset)
    where created_at is not null and resolved_at is null`,
  `create index disputes_by_revision on read.disputes (organization, revision)`,
  `create index disputes_by_request on read.disputes (organization, request_key_hash)
    where request_key_hash is not null`,
  `create table if not exists service.dispute_contacts (
    organization text collate "C" not null,
    dispute text collate "C" not null,
    contact text not null,
    stored_at bigint not null,
    primary key (organization, dispute)
  )`,
];

/** Adds the table of disputes, and the contacts of disputes, which are kept out of the log so that they can be erased. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};

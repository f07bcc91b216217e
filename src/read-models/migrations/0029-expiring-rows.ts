import { sql, type Kysely } from 'kysely';

const STATEMENTS = [
  `create index webhook_endpoints_deleted on read.webhook_endpoints (id) where state = 'DELETED'`,
  // Repeatable, because the schema `service` stays when an operator drops the schema `read`.
  'create index if not exists webhook_tests_by_time on service.webhook_tests (requested_at)',
];

/** Adds the indexes by which rows that have expired are found. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  for (const statement of STATEMENTS) await sql.raw(statement).execute(db);
};

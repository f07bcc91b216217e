import { sql, type Kysely } from 'kysely';

/**
 * The event up to which a webhook endpoint was sent the feed, as `position:mark`. The position is repeated, because a
 * process of an earlier version moves `position` alone: the event of another position says nothing.
 */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql`alter table service.webhook_progress add column if not exists event text collate "C"`.execute(db);
};

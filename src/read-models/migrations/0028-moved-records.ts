import { sql, type Kysely } from 'kysely';

/** Adds the event at the position of a listed record, if it is not the event of the record's state. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql.raw('alter table read.listed_records add column moved_to bigint, add column moved_by uuid').execute(db);
};

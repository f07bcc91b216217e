import { sql, type Kysely } from 'kysely';

/** Adds the place of the redaction of a dispute, which may be stored before the dispute. */
export const up = async (db: Kysely<unknown>): Promise<void> => {
  await sql.raw('alter table read.disputes add column redaction text collate "C"').execute(db);
};

import { nullable, statement } from '../postgres/statement.js';

export const SELECT_MOMENT = `
      select
        (select as_of from read.checkpoints where projection = 'records') as "asOf",
        (select position from read.checkpoints where projection = 'records') as "upTo"`;
export const MOMENT_COLUMNS = {
  /** The rows include everything that was acknowledged before this instant (ms). */
  asOf: nullable('bigint'),
  /** The position of the log that the rows include. */
  upTo: nullable('bigint'),
} as const;

/** A record of a list. */
export interface ItemRow {
  readonly id: string;
  /** The item as JSON. */
  readonly item: string;
}

/**
 * Finds a record by key; `item` is null if the record does not exist. The query selects the first row whose key is at
 * least this key, because for a plain equality the planner may use any index that begins with the organization.
 */
export const FIND_RECORD = statement(
  'records-find',
  { organization: 'text', kind: 'smallint', id: 'text' },
  { ...MOMENT_COLUMNS, item: nullable('text') },
  `
    select c.*, r.* from (${SELECT_MOMENT}
    ) c left join (
      select item from (
        select * from read.listed_records
        where (organization, kind, id) >= ($1, $2::smallint, $3) order by organization, kind, id limit 1
      ) next
      where organization = $1 and kind = $2 and id = $3
    ) r on true`,
);

/** When a migration was applied, by the database's clock (ms). */
export const READ_MIGRATION_TIME = statement(
  'records-fill',
  { migration: 'text' },
  { madeAt: 'bigint' },
  `
    select floor(extract(epoch from applied_at::timestamptz) * 1000)::bigint as "madeAt"
    from read.later_migrations where name = $1`,
);

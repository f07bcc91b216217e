import { nullable, statement } from '../postgres/statement.js';

export const ITEM = 'position, created_at as "createdAt", updated_at as "updatedAt", status, type, content, brands';
export const ITEM_COLUMNS = {
  position: nullable('bigint'),
  /** ms */
  createdAt: nullable('bigint'),
  /** ms */
  updatedAt: nullable('bigint'),
  status: nullable('text'),
  type: nullable('text'),
  content: nullable('text'),
  brands: nullable('text[]'),
} as const;
export const CHECKPOINT = `
      select
        (select as_of from read.checkpoints where projection = 'records') as "asOf",
        (select position from read.checkpoints where projection = 'records') as "upTo"`;
export const MOMENT_COLUMNS = {
  /** Everything acknowledged before this instant (ms) is shown. */
  asOf: nullable('bigint'),
  /** The log's position that the rows have reached. */
  upTo: nullable('bigint'),
} as const;

/** A record as the tables have it. */
export interface ItemRow {
  readonly id: string;
  readonly position: number;
  /** ms */
  readonly createdAt: number;
  /** ms */
  readonly updatedAt: number | null;
  readonly status: string | null;
  readonly type: string | null;
  readonly content: string | null;
  readonly brands: readonly string[] | null;
}

/**
 * One record; a null id: there is none. The first row from the key on, if it is the key's: to find equal columns the
 * planner may take any index that begins with the organization.
 */
export const FIND_RECORD = statement(
  'records-find',
  { organization: 'text', kind: 'smallint', id: 'text' },
  { ...MOMENT_COLUMNS, id: nullable('text'), ...ITEM_COLUMNS },
  `
    select c.*, r.* from (${CHECKPOINT}
    ) c left join (
      select id, ${ITEM} from (
        select * from read.listed_records
        where (organization, kind, id) >= ($1, $2::smallint, $3) order by organization, kind, id limit 1
      ) next
      where organization = $1 and kind = $2 and id = $3 and created_at is not null
    ) r on true`,
);

/** When the tables were made, by the database's clock (ms). */
export const READ_FILL = statement(
  'records-fill',
  { migration: 'text' },
  { madeAt: 'bigint' },
  `
    select floor(extract(epoch from applied_at::timestamptz) * 1000)::bigint as "madeAt"
    from read.later_migrations where name = $1`,
);

import { addCounts } from '../postgres/reviews.js';
import { json, nullable, statement } from '../postgres/statement.js';
import { IS_OF_THIS_VERSION } from './checkpoints.js';
import { ROWS_OF_ORGANIZATION } from './tables.js';

type Counts = Readonly<Record<string, number>>;

export const ENTER_NAMES = statement(
  'erasures-enter-names',
  { digests: 'text[]', logId: 'text' },
  'insert into service.erased_names (digest, log_id) select unnest(:digests), :logId on conflict do nothing',
);

export const READ_ERASED_NAMES = statement(
  'erasures-read-names',
  { logId: 'text' },
  { digest: 'text' },
  'select digest from service.erased_names where log_id = :logId',
);

/** The webhook endpoints of an organization that the tables know. */
export const ENDPOINTS_OF_ORGANIZATION = statement(
  'erasures-endpoints',
  { organization: 'text' },
  { name: 'text' },
  'select id as name from read.webhook_endpoints where organization = :organization',
);

export const ENTER_ERASURE = statement(
  'erasures-enter',
  { digest: 'text', startedAt: 'bigint', position: 'bigint' },
  `
    insert into service.erasures (digest, started_at, position, next) values (:digest, :startedAt, :position, 0)
    on conflict do nothing`,
);

export const READ_ERASURE = statement(
  'erasures-read',
  { digest: 'text' },
  {
    startedAt: 'bigint',
    position: 'bigint',
    next: 'bigint',
    events: json<Counts>(),
    rows: json<Counts>(),
    firstPosition: nullable('bigint'),
    lastPosition: nullable('bigint'),
  },
  `
    select started_at as "startedAt", position, next, events::json, rows::json, first_position as "firstPosition",
      last_position as "lastPosition"
    from service.erasures where digest = :digest`,
);

/** Records a batch of an erasure, in the transaction of the batch. */
export const RECORD_BATCH = statement(
  'erasures-record-batch',
  {
    digest: 'text',
    /** Null: the batch concerns rows. */
    next: nullable('bigint'),
    events: 'jsonb',
    rows: 'jsonb',
    first: nullable('bigint'),
    last: nullable('bigint'),
  },
  `
    update service.erasures e set
      next = coalesce(:next, e.next), events = ${addCounts('e.events', ':events')},
      rows = ${addCounts('e.rows', ':rows')},
      first_position = least(e.first_position, :first), last_position = greatest(e.last_position, :last)
    where e.digest = :digest`,
);

export const DELETE_ERASURE = statement(
  'erasures-delete',
  { digest: 'text' },
  'delete from service.erasures where digest = :digest',
);

/** Locks all checkpoints until the transaction ends, so that projectors wait. */
export const LOCK_CHECKPOINTS = statement(
  'erasures-lock-checkpoints',
  {},
  { projection: 'text' },
  'select projection from read.checkpoints order by projection for update',
);

/** The number of checkpoints that have reached a position. */
export const COUNT_CHECKPOINTS_AT = statement(
  'erasures-count-checkpoints',
  { position: 'bigint' },
  { reached: 'bigint' },
  `select count(*) as reached from read.checkpoints where position >= :position and ${IS_OF_THIS_VERSION}`,
);

/** The schemas of rebuilds and verifications in progress, and of those that were killed. */
export const SHADOW_SCHEMAS = statement(
  'erasures-shadow-schemas',
  {},
  { name: 'text' },
  `select nspname::text as name from pg_namespace where nspname ~ '^read_(next|check)_'`,
);

const steps = Object.entries(ROWS_OF_ORGANIZATION).flatMap(([table, kinds]) =>
  kinds.map(({ where, named, set }, n) => {
    const name = table.includes('.') ? table : `read.${table}`;
    const found = `from ${name} where :organization <> '' and (${where})`;
    const change = set === undefined ? `delete from ${name} t using found` : `update ${name} t set ${set} from found`;
    return {
      table: name,
      isShared: set !== undefined,
      count: statement(
        `erasures-count-${name}-${n}`,
        { organization: 'text', names: 'text[]' },
        { rows: 'bigint' },
        `
          select count(*) as rows from ${name}
          where :organization <> '' and (${where}${named === undefined ? ' and :names is not null' : ` or ${named} = any(:names)`})`,
      ),
      erase: statement(
        `erasures-erase-${name}-${n}`,
        { organization: 'text', limit: 'bigint' },
        { rows: 'bigint' },
        `
          with found as materialized (select ctid ${found} limit :limit),
            changed as (${change} where t.ctid = found.ctid returning 1)
          select count(*) as rows from changed`,
      ),
    };
  }),
);

/**
 * How the rows of an organization are counted and erased, a batch at a time. Shared rows come first: a projector that
 * still finds the organization in a shared row would write rows of the organization again.
 */
export const ROW_STEPS = [...steps.filter(({ isShared }) => isShared), ...steps.filter(({ isShared }) => !isShared)];

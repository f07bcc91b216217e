import { MAX_PAGE_BYTES } from '../event-log.js';
import { json, nullable, type RowOf, statement, textOf } from '../../postgres/statement.js';

const EVENT = {
  position: 'bigint',
  stream: 'text',
  revision: 'bigint',
  event_id: 'uuid',
  type: 'text',
  data: 'json',
  metadata: 'json',
  recorded_at: 'bigint',
} as const;
const COLUMNS = Object.keys(EVENT).join(', ');

/**
 * The next events after `$1`, at most `$2` and until they have `MAX_PAGE_BYTES`. `bytes` is the size of an event and of
 * all events before it in the page.
 */
const PAGE = `
  select ${COLUMNS}, bytes from (
    select e.*, sum(size) over (order by position rows unbounded preceding) as bytes from (
      select ${COLUMNS}, octet_length(data::text) + octet_length(metadata::text) as size
      from log.events where position > $1 order by position limit $2
    ) e
  ) e
  where bytes - size < ${MAX_PAGE_BYTES}`;

/** A row of `log.events`. */
export type EventRow = RowOf<typeof READ_ALL>;

export const READ_ALL = statement(
  'log-read-all',
  { after: 'bigint', limit: 'bigint' },
  EVENT,
  `select ${COLUMNS} from (${PAGE}) e order by position`,
);
/**
 * Reads the next events and `as_of`, the start of the transaction in ms by the database's clock. The transaction starts
 * before its snapshot is taken, so every event acknowledged before `as_of` is in the snapshot. If there are no events,
 * the result is one row without an event.
 */
export const READ_NEXT = statement(
  'log-read-next',
  { after: 'bigint', limit: 'bigint' },
  {
    as_of: 'bigint',
    position: nullable('bigint'),
    stream: nullable('text'),
    revision: nullable('bigint'),
    event_id: nullable('uuid'),
    type: nullable('text'),
    data: nullable(json()),
    metadata: nullable(json()),
    recorded_at: nullable('bigint'),
    bytes: nullable('bigint'),
  },
  `
    select floor(extract(epoch from transaction_timestamp()) * 1000)::bigint as as_of, e.*
    from (select) now left join lateral (${PAGE}) e on true
    order by e.position`,
);
export const READ_PLACES = statement(
  'log-read-places',
  { positions: 'bigint[]' },
  { position: 'bigint', id: 'uuid', type: 'text', stream: 'text', revision: 'bigint', recordedAt: 'bigint' },
  `
    select position, event_id as id, type, stream, revision, recorded_at as "recordedAt" from log.events
    where position = any($1::bigint[])`,
);
export const READ_STREAM = statement(
  'log-read-stream',
  { stream: 'text', from: 'bigint', limit: 'bigint' },
  EVENT,
  `select ${COLUMNS} from log.events where stream = $1 and revision >= $2 order by revision limit $3`,
);
export const FIND = statement(
  'log-find',
  { ids: 'uuid[]' },
  { event_id: 'uuid', position: 'bigint', metadata: 'json', recorded_at: 'bigint' },
  `
    select e.event_id, e.position, e.metadata, e.recorded_at
    from unnest($1::uuid[]) i (id) cross join lateral (
      select e.event_id, e.position, e.metadata, e.recorded_at from log.events e where e.event_id = i.id limit 1
    ) e`,
);
export const HEAD = statement(
  'log-head',
  {},
  { position: nullable('bigint') },
  'select max(position) as position from log.events',
);

/** Appends events; `schema.ts` explains the function. */
export const APPEND = statement(
  'log-append',
  {
    requests: 'integer[]',
    streams: 'text[]',
    expected: 'bigint[]',
    ids: 'uuid[]',
    types: 'text[]',
    data: 'text[]',
    metadata: 'text[]',
  },
  {
    outcome: textOf<'appended' | 'duplicate' | 'conflict'>(),
    /** Null if the outcome is `conflict`. */
    position: nullable('bigint'),
    /** Null if the outcome is `conflict`. */
    revision: nullable('bigint'),
    /** The stream's last revision before the append; -1 if the stream did not exist. */
    stream_revision: 'bigint',
  },
  'select * from log.append($1::int[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[])',
);

/** The outcome for one event. */
export type AppendedEntry = RowOf<typeof APPEND>;

const COLUMNS = 'position, stream, revision, event_id, type, data, metadata, recorded_at';
export const READ_ALL = {
  name: 'log-read-all',
  text: `select ${COLUMNS} from log.events where position > $1 order by position limit $2`,
};
export const READ_STREAM = {
  name: 'log-read-stream',
  text: `select ${COLUMNS} from log.events where stream = $1 and revision >= $2 order by revision limit $3`,
};
export const HEAD = { name: 'log-head', text: 'select max(position) as position from log.events' };

/** `schema.ts` says what it does. */
export const APPEND = {
  name: 'log-append',
  text: 'select * from log.append($1::int[], $2::text[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[])',
};

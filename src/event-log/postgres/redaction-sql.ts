import { REDACTED } from '../../events/redacted.js';
import { json, nullable, statement } from '../../postgres/statement.js';

type Fields = Readonly<Record<string, unknown>>;

const EVENT = {
  position: 'bigint',
  eventId: 'uuid',
  stream: 'text',
  type: 'text',
  data: json<Fields>(),
  metadata: json<Fields>(),
} as const;
const COLUMNS = 'e.position, e.event_id as "eventId", e.stream, e.type, e.data, e.metadata';

/** Whether an event has a content that has not been redacted. */
const HAS_CONTENT = `e.data #>> '{asset,content}' <> '${REDACTED}'`;

/**
 * The events at the positions from `$2` to `$3`, without `$3`, that may be about the assets with these hashes: the event
 * was stored with one of the hashes, or with another version of the key than `$4`. Also finds resolutions of disputes about these
 * assets, with the hash of the disputed asset.
 */
export const FIND_ABOUT = statement(
  'redaction-find-about',
  { hashes: 'text[]', from: 'bigint', to: 'bigint', keyVersion: 'text' },
  { ...EVENT, disputedHash: nullable('text') },
  `
    select ${COLUMNS}, replace(d.asset::text, '-', '') as "disputedHash"
    from log.events e left join read.disputes d
      on e.type = 'DisputeResolved' and d.organization = e.data ->> 'organization' and d.id = e.data ->> 'disputeId'
      and d.asset = any($1::text[]::uuid[])
    where e.position >= $2 and e.position < $3 and (
      ${HAS_CONTENT} and (
        e.metadata #>> '{assetKey,version}' is distinct from $4
        or e.metadata #>> '{assetKey,hash}' = any($1)
      )
      or d.id is not null and e.data ->> 'note' <> '${REDACTED}'
    )
    order by e.position`,
);

/** The projections that have parked one of these events. */
export const PARKED_AMONG = statement(
  'redaction-parked',
  { eventIds: 'uuid[]' },
  { eventId: 'uuid', projection: 'text' },
  `
    select event_id as "eventId", projection from read.parked_events
    where event_id = any($1::uuid[]) order by position, projection`,
);

/** Reads events to rewrite, and locks them, so that no other rewriting changes them meanwhile. */
export const LOCK_EVENTS = statement(
  'redaction-lock-events',
  { positions: 'bigint[]' },
  EVENT,
  `select ${COLUMNS} from log.events e where e.position = any($1::bigint[]) order by e.position for update`,
);

export const REWRITE_CONTENTS = statement(
  'redaction-rewrite',
  { position: 'bigint[]', data: 'text[]', metadata: 'text[]' },
  {},
  `
    update log.events e set data = i.data::json, metadata = i.metadata::json
    from unnest($1::bigint[], $2::text[], $3::text[]) i (position, data, metadata)
    where e.position = i.position`,
);

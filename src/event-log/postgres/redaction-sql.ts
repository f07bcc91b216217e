import { LISTED_KIND } from '../../events/listed-items.js';
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
 * was stored with one of the hashes, or without a hash of the version `$4` of the key. Also finds resolutions of disputes
 * about these assets, with the hash of the disputed asset.
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

/**
 * What the read models know of the record of an event `e` with a type and data: the newest version, if it is lower than a
 * version, of threats and takedowns, and of entries of the status history that are not in force; and of deleted entries,
 * whatever their version. Each subquery reads at most one row by its key: `limit 1` keeps the planner from reading whole
 * tables.
 */
const joinOutdated = (version: string): string => `
    cross join lateral (
      (
        select r.version, false as is_deleted from read.listed_records r
        where e.type in ('ThreatStatusChanged', 'TakedownFiled', 'TakedownStatusChanged')
          and r.organization = e.data ->> 'organization'
          and r.kind = case e.type when 'ThreatStatusChanged' then ${LISTED_KIND.threat} else ${LISTED_KIND.takedown} end
          and r.id = coalesce(e.data ->> 'threatId', e.data ->> 'takedownId')
          and r.version < ${version}
        limit 1
      )
      union all
      (
        select s.version, s.status is null from read.asset_status_entries s
        where e.type in ('AssetStatusChanged', 'AssetStatusChangeDeleted')
          and s.change_id = e.data ->> 'changeId'
          and (s.status is null or s.version < ${version})
          and (
            s.status is null or s.asset_hash = '' or exists (
              select from read.asset_status_entries n
              where n.asset_hash = s.asset_hash and n.status is not null
                and (n.version, n.event_id) > (s.version, s.event_id)
            )
          )
        limit 1
      )
    ) newest`;

const IS_NOT_PARKED = 'not exists (select from read.parked_events p where p.event_id = e.event_id)';

/**
 * The events at the positions from `$1` to `$2`, without `$2`, with the contents of threats and takedowns whose newest
 * version is lower than `$3`, and of entries of the status history that are not in force and either have such a version
 * or are deleted.
 */
export const FIND_EXPIRED = statement(
  'redaction-find-expired',
  { from: 'bigint', to: 'bigint', version: 'bigint' },
  { ...EVENT, version: 'bigint', isDeletedEntry: 'boolean' },
  `
    select ${COLUMNS}, newest.version, newest.is_deleted as "isDeletedEntry"
    from log.events e ${joinOutdated('$3')}
    where e.position >= $1 and e.position < $2 and ${HAS_CONTENT} and ${IS_NOT_PARKED}
    order by e.position`,
);

/** Those of these events that `FIND_EXPIRED` would find, for events in another store. */
export const EXPIRED_AMONG = statement(
  'redaction-expired-among',
  { eventId: 'uuid[]', type: 'text[]', data: 'json[]', version: 'bigint' },
  { eventId: 'uuid', version: 'bigint', isDeletedEntry: 'boolean' },
  `
    select e.event_id as "eventId", newest.version, newest.is_deleted as "isDeletedEntry"
    from unnest($1::uuid[], $2::text[], $3::json[]) e (event_id, type, data) ${joinOutdated('$4')}
    where ${IS_NOT_PARKED}`,
);

/** Those of these resolutions that are about disputes about the assets with these hashes. */
export const DISPUTED_AMONG = statement(
  'redaction-disputed-among',
  { eventId: 'uuid[]', organization: 'text[]', disputeId: 'text[]', hashes: 'text[]' },
  { eventId: 'uuid', disputedHash: 'text' },
  `
    select i.event_id as "eventId", replace(d.asset::text, '-', '') as "disputedHash"
    from unnest($1::uuid[], $2::text[], $3::text[]) i (event_id, organization, id)
    join read.disputes d on d.organization = i.organization and d.id = i.id and d.asset = any($4::text[]::uuid[])`,
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

import type { Fact } from '../events/facts.js';
import { json, nullable, statement } from '../postgres/statement.js';
import { ALL_PROJECTIONS } from '../read-models/checkpoints/checkpoints.js';
import { positionOf } from '../read-models/checkpoints/position-sql.js';

/** The newest counted state of the record that `i` identifies, from the table of its kind. */
const STATE = `
      select r.version, r.event_id, r.counts from read.records r
        where r.organization = i.organization and r.kind = i.kind and r.id = i.id
      union all
      select b.version, b.event_id, '[]' from read.brands b
        where i.kind = 'brand' and b.organization = i.organization and b.brand = i.id
      union all
      select f.version, f.event_id, '[]' from read.feature_flags f
        where i.kind = 'featureFlag' and f.organization = i.organization and f.flag = i.id
      union all
      select g.version, g.event_id, '[]' from read.grouped_assets g
        where i.kind = 'groupedAsset' and g.organization = i.organization and g.asset = i.id
      union all
      select 2 * d.resolved_at, (d.resolution::json ->> 'eventId')::uuid, '[]' from read.disputes d
        where i.kind = 'dispute' and d.organization = i.organization and d.id = i.id and d.resolved_at is not null
      limit 1`;

/** The newest counted state of each of these records. Records without a counted state are omitted. */
export const READ_RECORD_STATES = statement(
  'ingestion-record-states',
  { organization: 'text[]', kind: 'text[]', id: 'text[]' },
  {
    organization: 'text',
    kind: 'text',
    id: 'text',
    version: 'bigint',
    eventId: 'uuid',
    /** The facts that are counted for the record in this state. */
    facts: json<readonly Fact[]>(),
  },
  `
    select i.organization, i.kind, i.id, r.version, r.event_id as "eventId", r.counts as facts
    from unnest($1::text[], $2::text[], $3::text[]) i (organization, kind, id) cross join lateral (${STATE}
    ) r`,
);

/** For each event: the newest counted state of its record, the checkpoint of its projection, and where it is parked. */
export const READ_EVENT_STATES = statement(
  'ingestion-event-states',
  { eventId: 'uuid[]', organization: 'text[]', kind: 'text[]', id: 'text[]', projection: 'text[]' },
  {
    ordinal: 'bigint',
    /** The position that all projections have reached. */
    position: 'bigint',
    version: nullable('bigint'),
    recordEventId: nullable('uuid'),
    facts: nullable(json<readonly Fact[]>()),
    countedUpTo: nullable('bigint'),
    parkedBy: nullable('text'),
    parkedAt: nullable('bigint'),
    /** Null if the reason is a database error, which is shown only to the operator. */
    parkedReason: nullable('text'),
  },
  `
    select i.ordinal, ${positionOf(...ALL_PROJECTIONS)} as position, r.version, r.event_id as "recordEventId", r.counts as facts, c.position as "countedUpTo",
      p.projection as "parkedBy", p.parked_at as "parkedAt",
      case when p.unreadable then left(p.reason, 2000) end as "parkedReason"
    from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[])
      with ordinality i (event_id, organization, kind, id, projection, ordinal)
      left join lateral (${STATE}
      ) r on true
      left join lateral (select c.position from read.checkpoints c where c.projection = i.projection limit 1) c on true
      left join lateral (
        select p.projection, p.parked_at, p.reason, p.unreadable from read.parked_events p
          where p.event_id = i.event_id limit 1
      ) p on true`,
);

import { randomUUID } from 'node:crypto';
import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../../http/requests.js';
import { Pool } from 'pg';
import type { Fact } from '../../events/facts.js';
import { json, nullable, statement, type RowOf } from '../../postgres/statement.js';
import { ALL_PROJECTIONS, IS_OF_THIS_VERSION, positionOf } from '../../read-models/checkpoints.js';
import { eventIdOf, issueOfId, streamOf } from '../../events/streams.js';
import { isUpstreamType, parseEvent, UPSTREAM, type UpstreamEvent } from '../../events/event.js';
import { recordOf, type RecordState, type RecordKind, timeOf } from '../../events/record.js';
import { newStoredKey } from '../../events/stored-key.js';
import { Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog, type FoundEvent } from '../../event-log/event-log.js';
import { formatInstant } from '../../events/instant.js';
import { type Caller, ownerOf } from '../../http/access/caller.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { countedFact } from '../receive/events.dto.js';
import { parkedReason } from './list-parked.js';
import type { EventStatusDto } from './outcomes.dto.js';

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
    from unnest(:organization, :kind, :id) i (organization, kind, id) cross join lateral (${STATE}
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
    from unnest(:eventId, :organization, :kind, :id, :projection)
      with ordinality i (event_id, organization, kind, id, projection, ordinal)
      left join lateral (${STATE}
      ) r on true
      left join lateral (select c.position from read.checkpoints c where c.projection = i.projection limit 1) c on true
      left join lateral (
        select p.projection, p.parked_at, p.reason, p.unreadable from read.parked_events p
          where p.event_id = i.event_id and ${IS_OF_THIS_VERSION} order by p.projection limit 1
      ) p on true`,
);

/** Identifies an event to look up. */
interface NamedEvent {
  readonly stream: string;
  /** The id of the event in the log. */
  readonly id: string;
  readonly record: Omit<RecordState, 'version'>;
}

type Type = UpstreamEvent['type'];

/** The fields of the data that identify the record of an event. */
const IDENTITY: Readonly<Record<Type, readonly string[]>> = {
  ReportFiled: ['organization', 'reportId'],
  ReportDeleted: ['organization', 'reportId'],
  ThreatStatusChanged: ['organization', 'threatId'],
  ThreatDeleted: ['organization', 'threatId'],
  TakedownFiled: ['organization', 'takedownId'],
  TakedownStatusChanged: ['organization', 'takedownId'],
  TakedownDeleted: ['organization', 'takedownId'],
  AssetStatusChanged: ['changeId', 'asset'],
  AssetStatusChangeDeleted: ['changeId', 'asset'],
  BrandRegistered: ['organization', 'brand'],
  BrandRemoved: ['organization', 'brand'],
  FeatureFlagChanged: ['organization', 'flag'],
  AssetGrouped: ['organization', 'asset'],
  AssetUngrouped: ['organization', 'asset'],
  DisputeResolved: ['organization', 'disputeId'],
};
const EXAMPLES: ReadonlyMap<string, object> = new Map(UPSTREAM.map(({ type, example }) => [type, example]));

/** Builds an event about a record. The fields that do not identify the record come from the example of the type. */
const eventAbout = (type: Type, given: Record<string, unknown>) =>
  parseEvent(type, {
    ...EXAMPLES.get(type),
    ...Object.fromEntries(IDENTITY[type].map((name) => [name, given[name]])),
  });

/**
 * A nonexistent event. The service queries this event in place of another organization's event, so that the response
 * time reveals nothing.
 */
const nonexistentEvent = (): NamedEvent => {
  const id = randomUUID();
  return { stream: `threat-nobody:${id}`, id, record: { organization: '', kind: 'threat', id } };
};

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/**
 * Reads the identity of an event from `{ source, id, type, data }` or `{ source, id, type, record }`.
 * @param organization the organization of the key; a key without an organization may look up events of all
 *   organizations
 * @returns the event, or all problems of the item
 */
const readNamedEvent = (item: unknown, organization: string | undefined): NamedEvent | readonly string[] => {
  if (!isObject(item)) return ['must be an object with source, id, type, and data or record'];
  const { source, id, type, data, record } = item;
  const issues: string[] = [];
  const textOf = (name: string, value: unknown): string => {
    const issue = typeof value === 'string' ? issueOfId(value) : 'must be a string';
    if (issue !== undefined) issues.push(`${name} ${issue}`);
    return typeof value === 'string' ? value : '';
  };
  const [sourceText, idText] = [textOf('source', source), textOf('id', id)];
  if (typeof type !== 'string' || !isUpstreamType(type))
    issues.push('type must be an event type that GET /schemas lists');
  const about = data ?? record;
  if (!isObject(about)) issues.push('data is required, or a record with the fields of data that identify the record');
  if (!isObject(about) || typeof type !== 'string' || !isUpstreamType(type)) return issues;
  const { event, issues: wrong = [] } = eventAbout(type, about);
  const prefix = data === undefined || data === null ? 'record.' : 'data.';
  issues.push(...wrong.map((issue) => issue.replace(/^data\./, prefix)));
  if (event === undefined || issues.length > 0) return issues;
  if (organization !== undefined && !('organization' in event.data && event.data.organization === organization))
    return nonexistentEvent();
  const hash = newStoredKey(event)?.hash;
  const stream = streamOf(event, hash);
  return { stream, id: eventIdOf(sourceText, idText, type, stream), record: recordOf(event, hash) };
};

/**
 * Returns the status of events, for the organization of their records or the key without an organization that sent them.
 * The items of the request are not validated yet.
 */
export class GetEventStatus extends queryOf<
  AtPosition<readonly EventStatusDto[]>,
  { readonly caller: Caller; readonly events: readonly unknown[] }
>() {}

/** The projection that stores the state of a record; `metrics` for all other kinds. */
const PROJECTIONS: Readonly<Partial<Record<RecordKind, string>>> = {
  brand: 'brands-and-flags',
  featureFlag: 'brands-and-flags',
  groupedAsset: 'asset-groups',
  dispute: 'register',
};

type State = RowOf<typeof READ_EVENT_STATES>;

/** @param state read before the log, so that every event that the state includes was found in the log */
const statusOf = (eventId: string, found: FoundEvent, state: State): EventStatusDto => {
  const storedAt = formatInstant(found.recordedAt);
  const { parkedBy, parkedAt, parkedReason: reason, countedUpTo, version, recordEventId, facts } = state;
  if (parkedBy !== null)
    return {
      status: 'parked',
      storedAt,
      parked: { projection: parkedBy, since: formatInstant(parkedAt!), reason: parkedReason(reason) },
    };
  if (countedUpTo === null || BigInt(countedUpTo) < found.position || version === null)
    return { status: 'stored', storedAt };
  if (recordEventId === eventId) return { status: 'counted', storedAt, countedAs: facts!.map(countedFact) };
  // The deletion of a status entry is final and has no instant.
  const at = version === Number.MAX_SAFE_INTEGER ? undefined : formatInstant(timeOf(version));
  return { status: 'superseded', storedAt, supersededBy: { ...(at && { at }), deleted: version % 2 === 1 } };
};

@QueryHandler(GetEventStatus)
export class GetEventStatusHandler implements IQueryHandler<GetEventStatus> {
  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws Invalid if an item does not identify an event
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database cannot be reached
   */
  async execute({ caller, events }: GetEventStatus): Promise<AtPosition<readonly EventStatusDto[]>> {
    const named: NamedEvent[] = [];
    const issues: string[] = [];
    for (const [index, item] of events.entries()) {
      const read = readNamedEvent(item, caller.organization);
      if ('stream' in read) named.push(read);
      else issues.push(...read.map((issue) => `event ${index}: ${issue}`));
    }
    if (issues.length > 0) throw new Invalid(issues[0]!, issues);
    const isOwn = ({ metadata }: FoundEvent): boolean =>
      caller.organization !== undefined || (metadata as { keyId?: unknown } | null)?.keyId === caller.keyId;
    return this.concurrency.run(ownerOf(caller), undefined, async () => {
      const states = await READ_EVENT_STATES.run(
        this.pool,
        {
          eventId: named.map(({ id }) => id),
          organization: named.map(({ record }) => record.organization),
          kind: named.map(({ record }) => record.kind),
          id: named.map(({ record }) => record.id),
          projection: named.map(({ record }) => PROJECTIONS[record.kind] ?? 'metrics'),
        },
        TIME_LIMIT_MS,
      );
      const found = await this.log.find(named);
      const stateOf = new Map(states.map((state) => [state.ordinal - 1, state]));
      const result = named.map(({ id }, n): EventStatusDto => {
        const event = found[n];
        return event && isOwn(event) ? statusOf(id, event, stateOf.get(n)!) : { status: 'unknown' };
      });
      return { result, position: BigInt(states[0]?.position ?? -1) };
    });
  }
}

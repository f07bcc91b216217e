import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog, type FoundEvent } from '../../event-log/event-log.js';
import { formatInstant } from '../../events/instant.js';
import { type RecordKind, timeOf } from '../../events/record.js';
import { type Caller, ownerOf } from '../../http/access/caller.js';
import type { RowOf } from '../../postgres/statement.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { countedFact } from '../counted-fact.dto.js';
import { parkedReason } from '../parked/parked-reason.js';
import { READ_EVENT_STATES } from '../record-states-sql.js';
import { type NamedEvent, readNamedEvent } from './named-event.js';
import type { EventStatusDto } from './status.dto.js';

/** Returns the status of events, for the organization of their records or the key without an organization that sent them. */
export class GetEventStatus extends Query<AtPosition<readonly EventStatusDto[]>> {
  constructor(
    readonly caller: Caller,
    /** The items of the request, not validated yet. */
    readonly events: readonly unknown[],
  ) {
    super();
  }
}

/** The projection that stores the state of a record; `metrics` for all other kinds. */
const PROJECTIONS: Readonly<Partial<Record<RecordKind, string>>> = {
  brand: 'brands-and-flags',
  featureFlag: 'brands-and-flags',
  groupedAsset: 'asset-groups',
  dispute: 'records',
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

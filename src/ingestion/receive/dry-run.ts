import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../../http/requests.js';
import { Pool } from 'pg';
import { type Fact, factsOf } from '../../events/facts.js';
import { parseEvent, type UpstreamEvent } from '../../events/event.js';
import { isLater, recordOf, type RecordState } from '../../events/record.js';
import { storedHashOf } from '../../events/stored-key.js';
import { type Work, TimeSlices } from '../../flow/turns.js';
import { countedFact, type CountedFactDto, type TriedEventDto } from './events.dto.js';
import { type Entry, decide, type Decision, requireAccepted, type SentEvents } from './decide-events.js';
import { GuardedHosts } from '../../verdicts.js';
import { ErasedOrganizations } from '../../event-log/erased-organizations.js';
import { EventLog } from '../../event-log/event-log.js';
import { arrayJson } from '../../http/json.js';
import { columnsOf } from '../../postgres/statement.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { READ_RECORD_STATES } from '../outcomes/get-event-status.js';
import type { RecordedEvents } from './record-events.js';

/** The newest known state of a record, and the facts that are counted for this state. */
interface KnownState {
  readonly version: number;
  readonly eventId: string;
  readonly facts: readonly Fact[];
}

const keyOf = ({ organization, kind, id }: Omit<RecordState, 'version' | 'kind'> & { readonly kind: string }): string =>
  `${organization}\n${kind}\n${id}`;

/** An event that would be stored, and the resulting state of its record. */
interface TriedEvent {
  readonly index: number;
  readonly id: string;
  readonly record: RecordState;
  readonly state: KnownState;
}

/** Computes the states that the entries of a request would give their records. */
function* triedEvents(entries: readonly Entry[]): Work<TriedEvent[]> {
  const tried: TriedEvent[] = [];
  for (const { index, event: stored } of entries) {
    yield;
    const { id } = stored.metadata as { id: string };
    // Parsing cannot fail, because the event was parsed before it became an entry.
    const event = parseEvent(stored.type as UpstreamEvent['type'], stored.data).event!;
    const record = recordOf(event, storedHashOf(stored.metadata));
    tried.push({ index, id, record, state: { version: record.version, eventId: stored.id, facts: factsOf(event) } });
  }
  return tried;
}

/** The state of a record in the read models. */
interface CountedState extends KnownState {
  readonly organization: string;
  readonly kind: string;
  readonly id: string;
}

const factsWithout = (facts: readonly CountedFactDto[], others: readonly CountedFactDto[]): CountedFactDto[] => {
  const known = new Set(others.map((fact) => JSON.stringify(fact)));
  return facts.filter((fact) => !known.has(JSON.stringify(fact)));
};

/** Computes which metrics events would change if they were stored and counted now, one after another. */
function* wouldCount(tried: readonly TriedEvent[], counted: readonly CountedState[]): Work<TriedEventDto[]> {
  const known = new Map<string, KnownState>(counted.map((state) => [keyOf(state), state]));
  const results: TriedEventDto[] = [];
  for (const { index, id, record, state } of tried) {
    yield;
    const key = keyOf(record);
    const before = known.get(key);
    if (before && !isLater(state, before)) {
      results.push({ index, id, wouldCount: [], superseded: true });
      continue;
    }
    known.set(key, state);
    const [gains, losses] = [state.facts.map(countedFact), before?.facts.map(countedFact) ?? []];
    const lostFacts = factsWithout(losses, gains);
    results.push({
      index,
      id,
      wouldCount: factsWithout(gains, losses),
      ...(lostFacts.length > 0 && { wouldNoLongerCount: lostFacts }),
    });
  }
  return results;
}

/**
 * Returns the response that `RecordEvents` would give now, and the metrics that each event would change. Nothing is
 * stored.
 */
export class TryEvents extends queryOf<string, SentEvents>() {}

@QueryHandler(TryEvents)
export class TryEventsHandler implements IQueryHandler<TryEvents> {
  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
    private readonly slices: TimeSlices,
    private readonly guardedHosts: GuardedHosts,
    private readonly erased: ErasedOrganizations,
  ) {}

  /**
   * @returns the response as JSON, which may be megabytes long
   * @throws Invalid if every event would be rejected
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database cannot be reached
   */
  async execute(query: TryEvents): Promise<string> {
    const owner = query.organization ?? query.origin.keyId ?? '';
    const decision = await this.slices.run(owner, decide(query, this.guardedHosts, this.erased));
    requireAccepted(decision);
    return this.concurrency.run(owner, undefined, () => this.try(owner, decision));
  }

  private async try(owner: string, { entries, repeated, rejected, warnings }: Decision): Promise<string> {
    const found = await this.log.find(entries.map(({ stream, event: { id } }) => ({ stream, id })));
    const newEntries = entries.filter((_, n) => found[n] === undefined);
    const response: RecordedEvents = {
      accepted: newEntries.length,
      duplicates: repeated.length + entries.length - newEntries.length,
      rejected,
      ...(warnings.length > 0 && { warnings }),
    };
    const tried = await this.slices.run(owner, triedEvents(newEntries));
    const records = columnsOf(
      tried.map(({ record }) => record),
      ...(['organization', 'kind', 'id'] as const),
    );
    const counted = await READ_RECORD_STATES.run(this.pool, records, TIME_LIMIT_MS);
    const events = await this.slices.run(owner, wouldCount(tried, counted));
    const json = await this.slices.run(owner, arrayJson(events));
    return `${JSON.stringify(response).slice(0, -1)},"events":${json}}`;
  }
}

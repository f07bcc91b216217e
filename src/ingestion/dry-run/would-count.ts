import { type Fact, factsOf } from '../../events/facts.js';
import { parseEvent, type UpstreamEvent } from '../../events/event.js';
import { isLater, recordOf, type RecordState } from '../../events/record.js';
import { storedHashOf } from '../../events/stored-key.js';
import type { Work } from '../../flow/time-slices.js';
import { countedFact, type CountedFactDto } from '../counted-fact.dto.js';
import type { Entry } from '../receive/decide-events.js';
import type { TriedEventDto } from './dry-run.dto.js';

/** The newest known state of a record, and the facts that are counted for this state. */
export interface KnownState {
  readonly version: number;
  readonly eventId: string;
  readonly facts: readonly Fact[];
}

const keyOf = ({ organization, kind, id }: Omit<RecordState, 'version' | 'kind'> & { readonly kind: string }): string =>
  `${organization}\n${kind}\n${id}`;

/** An event that would be stored, and the resulting state of its record. */
export interface TriedEvent {
  readonly index: number;
  readonly id: string;
  readonly record: RecordState;
  readonly state: KnownState;
}

/** Computes the states that the entries of a request would give their records. */
export function* triedEvents(entries: readonly Entry[]): Work<TriedEvent[]> {
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
export interface CountedState extends KnownState {
  readonly organization: string;
  readonly kind: string;
  readonly id: string;
}

const factsWithout = (facts: readonly CountedFactDto[], others: readonly CountedFactDto[]): CountedFactDto[] => {
  const known = new Set(others.map((fact) => JSON.stringify(fact)));
  return facts.filter((fact) => !known.has(JSON.stringify(fact)));
};

/** Computes which metrics events would change if they were stored and counted now, one after another. */
export function* wouldCount(tried: readonly TriedEvent[], counted: readonly CountedState[]): Work<TriedEventDto[]> {
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

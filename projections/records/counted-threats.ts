import type { EventOf } from '../../src/events/event.js';
import { factsOf } from '../../src/events/facts.js';
import { MEASURE } from '../../src/events/measure.js';
import { isLater, recordOf } from '../../src/events/record.js';
import type { ProjectedEvent } from '../engine/projection.js';

type ThreatEvent = EventOf<'ThreatStatusChanged' | 'ThreatDeleted'>;

/** Whether the newest state of a threat counts as a new threat, and since when any of its states counts. */
export interface CountedThreat {
  readonly organization: string;
  readonly id: string;
  readonly version: number;
  readonly eventId: string;
  readonly counts: boolean;
  /** ms. Undefined: no state counts. */
  readonly countedAt: number | undefined;
  /** The asset type of the state at `countedAt`. */
  readonly type: string | undefined;
}

export const isThreatEvent = (projected: ProjectedEvent): projected is ProjectedEvent<ThreatEvent> =>
  projected.event.type === 'ThreatStatusChanged' || projected.event.type === 'ThreatDeleted';

export const countedThreatOf = ({ event, id: eventId }: ProjectedEvent<ThreatEvent>): CountedThreat => {
  const { organization, id, version } = recordOf(event);
  const [, , countedAt, , type] = factsOf(event).find(([, , , measure]) => measure === MEASURE.threat) ?? [];
  return { organization, id, version, eventId, counts: countedAt !== undefined, countedAt, type };
};

/** Whether `a` counts and is before `b`. For the same instant, the type decides. */
const isFirst = (a: CountedThreat, b: CountedThreat): boolean =>
  a.countedAt !== undefined &&
  (b.countedAt === undefined || a.countedAt < b.countedAt || (a.countedAt === b.countedAt && a.type! < b.type!));

/** Merges two states of a threat. The order of the states does not matter. */
export const firstAndNewest = (a: CountedThreat, b = a): CountedThreat => {
  const { countedAt, type } = isFirst(a, b) ? a : b;
  return { ...(isLater(a, b) ? a : b), countedAt, type };
};

import type { RecordedEvent } from '../../src/event-log/event-log.js';

/** A naive implementation of the false positives that shares no code with the service: it reads the log for each number. */

type Counting = readonly [at: number, type: string];

export interface NaiveThreat {
  readonly organization: string;
  readonly id: string;
  /** The `createdAt` (ms) and the type with which the newest state counts. */
  readonly newest: Counting | undefined;
  /** The first `createdAt` (ms) with which any state counts, and the type of that state. */
  readonly first: Counting | undefined;
}

const isCounted = ({ type, data }: RecordedEvent): boolean =>
  type === 'ThreatStatusChanged' && ['BLOCKED', 'APPROVED', 'AUTO_APPROVED'].includes((data as any).status);

/** `[instant, deleted, event id]` as a text that sorts in the order of the states. The instants may be before 1970. */
const rankOf = ({ type, data, id }: RecordedEvent): string => {
  const { updatedAt, deletedAt } = data as any;
  const instant = new Date(deletedAt ?? updatedAt).getTime() + 1e14;
  return `${String(instant).padStart(16, '0')} ${type === 'ThreatDeleted' ? 1 : 0} ${id}`;
};

const grouped = <T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> => {
  const groups = new Map<string, T[]>();
  for (const item of items) groups.set(keyOf(item), [...(groups.get(keyOf(item)) ?? []), item]);
  return groups;
};

/** Returns every threat of which the log has an event, in the order of organization and id. */
export const naiveThreats = (log: readonly RecordedEvent[]): NaiveThreat[] =>
  [
    ...grouped(
      log.filter(({ type }) => type.startsWith('Threat')),
      ({ data }) => `${(data as any).organization}\n${(data as any).threatId}`,
    ),
  ]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, events]) => {
      const [organization, id] = key.split('\n') as [string, string];
      const newest = events.toSorted((a, b) => (rankOf(a) < rankOf(b) ? -1 : 1)).at(-1)!;
      const countingOf = ({ data }: RecordedEvent): Counting => [
        new Date((data as any).createdAt).getTime(),
        (data as any).asset.type,
      ];
      const counted = events
        .filter(isCounted)
        .map(countingOf)
        .sort(([a, typeA], [b, typeB]) => a - b || (typeA < typeB ? -1 : 1));
      return { organization, id, newest: isCounted(newest) ? countingOf(newest) : undefined, first: counted[0] };
    });

interface Query {
  readonly organization: string;
  readonly from: number;
  readonly to: number;
}

const countsOf = (threats: readonly NaiveThreat[]) => {
  const falsePositives = threats.filter(({ newest }) => newest === undefined).length;
  return {
    counted: threats.length,
    falsePositives,
    rate: threats.length === 0 ? null : falsePositives / threats.length,
  };
};

const naiveDisputes = (stored: readonly RecordedEvent[], { organization, from, to }: Query) => {
  // The log may contain an event twice.
  const log = [...new Map(stored.map((event) => [event.id, event])).values()];
  const resolutions = log.filter(({ type }) => type === 'DisputeResolved');
  const disputes = log.flatMap(({ type, data }) => {
    const { disputeId, createdAt, ...filed } = data as any;
    const at = new Date(createdAt).getTime();
    if (type !== 'DisputeFiled' || filed.organization !== organization || at < from || at > to) return [];
    const [last] = resolutions
      .filter(({ data: of }) => (of as any).disputeId === disputeId && (of as any).organization === organization)
      .map(({ id, data: of }) => ({ id, outcome: (of as any).outcome, at: new Date((of as any).resolvedAt).getTime() }))
      .sort((a, b) => b.at - a.at || (a.id > b.id ? -1 : 1));
    return [{ outcome: last?.outcome, took: last && last.at - at }];
  });
  const times = disputes.flatMap(({ took = -1 }) => (took >= 0 ? [took] : [])).sort((a, b) => a - b);
  const countOf = (outcome?: string): number => disputes.filter((each) => each.outcome === outcome).length;
  return {
    filed: disputes.length,
    accepted: countOf('ACCEPTED'),
    rejected: countOf('REJECTED'),
    open: countOf(undefined),
    medianTimeToResolution: times.length === 0 ? null : times[Math.ceil(times.length / 2) - 1]!,
  };
};

export const naiveFalsePositives = (threats: readonly NaiveThreat[], log: readonly RecordedEvent[], query: Query) => {
  const inRange = threats.filter(
    ({ organization, first }) =>
      organization === query.organization && first && first[0] >= query.from && first[0] <= query.to,
  );
  const by = (keyOf: (first: readonly [number, string]) => string) =>
    [...grouped(inRange, ({ first }) => keyOf(first!))].map(([key, each]) => [key, countsOf(each)] as const);
  return {
    totals: countsOf(inRange),
    byType: by(([, type]) => type)
      .map(([type, counts]) => ({ type, ...counts }))
      .sort((a, b) => b.counted - a.counted || (a.type < b.type ? -1 : 1)),
    byDay: by(([at]) => new Date(at).toISOString().slice(0, 10))
      .map(([date, counts]) => ({ date, ...counts }))
      .sort((a, b) => (a.date < b.date ? -1 : 1)),
    disputes: naiveDisputes(log, query),
  };
};

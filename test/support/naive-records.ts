import type { RecordedEvent } from '../../src/event-log/event-log.js';

/**
 * A naive implementation of lists and feed that shares no code with the service: it replays the log event by event, and
 * stores what each organization sees of each record and since which position.
 */

export type Kind = 'report' | 'threat' | 'takedown' | 'verdict' | 'dispute';

export interface Seen {
  readonly organization: string;
  readonly kind: Kind;
  readonly id: string;
  /** Position of the event that led to this state. */
  readonly position: bigint;
  readonly eventId: string;
  /** ms */
  readonly storedAt: number;
  /** The listed item. Undefined: the record was deleted or no longer concerns the organization. */
  readonly item: Record<string, any> | undefined;
}

const iso = (text: string): string => new Date(text).toISOString();
const NEVER_LATER = Number.POSITIVE_INFINITY;

const subjectOf = (type: string, data: Record<string, any>): readonly [kind: Kind, id: string] => {
  if (type.startsWith('Report')) return ['report', data['reportId']];
  if (type.startsWith('Threat')) return ['threat', data['threatId']];
  if (type.startsWith('Takedown')) return ['takedown', data['takedownId']];
  return ['verdict', data['changeId']];
};

const itemOf = (kind: Kind, id: string, data: Record<string, any>): Record<string, unknown> => {
  const { asset, status, brand, createdAt, updatedAt } = data;
  const dates = { createdAt: iso(createdAt), updatedAt: iso(updatedAt) };
  if (kind === 'report') return { id, brands: [...new Set(data['brands'] ?? [])], ...dates };
  if (kind === 'threat') return { id, asset, status, ...dates };
  return { id, asset, status, ...(brand && { brand }), ...dates };
};

const viewsOf = (kind: Kind, id: string, type: string, data: Record<string, any>): Map<string, object | undefined> => {
  if (kind !== 'verdict')
    return new Map([[data['organization'], type.endsWith('Deleted') ? undefined : itemOf(kind, id, data)]]);
  const views = new Map<string, object>();
  if (type.endsWith('Deleted')) return views;
  for (const { organization } of data['brandReviews']) {
    const ownReviews = data['brandReviews'].filter((review: any) => review.organization === organization);
    const brands = [...new Set<string>(ownReviews.map(({ brand }: any) => brand))].sort();
    views.set(organization, {
      id,
      asset: data['asset'],
      status: data['status'],
      brands,
      createdAt: iso(data['createdAt']),
    });
  }
  return views;
};

/** A dispute is listed once it was filed, with the latest of its resolutions. */
const disputesIn = (events: readonly RecordedEvent[]): Seen[] => {
  const filed = new Map<string, RecordedEvent>();
  const resolutions = new Map<string, RecordedEvent>();
  const orderOf = ({ id, data }: RecordedEvent): string => `${iso((data as Record<string, any>)['resolvedAt'])} ${id}`;
  for (const event of events.filter(({ type }) => type.startsWith('Dispute'))) {
    const { disputeId } = event.data as Record<string, any>;
    const before = resolutions.get(disputeId);
    if (event.type === 'DisputeFiled') filed.set(disputeId, filed.get(disputeId) ?? event);
    else if (before === undefined || orderOf(before) < orderOf(event)) resolutions.set(disputeId, event);
  }
  return [...filed].map(([id, first]): Seen => {
    const { organization, asset, content, verdict, createdAt } = first.data as Record<string, any>;
    const resolution = resolutions.get(id);
    const { outcome = 'OPEN', resolvedAt = createdAt } = (resolution?.data ?? {}) as Record<string, any>;
    const { position, recordedAt } = resolution && resolution.position > first.position ? resolution : first;
    const dates = { createdAt: iso(createdAt), updatedAt: iso(resolvedAt) };
    const item = { id, asset, content, status: outcome, verdict, ...dates };
    return {
      organization,
      kind: 'dispute',
      id,
      position,
      eventId: (resolution ?? first).id,
      storedAt: recordedAt,
      item,
    };
  });
};

/** @returns what each organization sees, in the order of the feed */
export const replayed = (events: readonly RecordedEvent[]): Seen[] => {
  const newest = new Map<string, readonly [instant: number, deleted: number, eventId: string]>();
  const seen = new Map<string, Seen>();
  for (const { type, data: raw, id: eventId, position, recordedAt } of events) {
    if (type.startsWith('Dispute')) continue;
    const data = raw as Record<string, any>;
    const [kind, id] = subjectOf(type, data);
    const record = kind === 'verdict' ? `verdict ${id}` : `${kind} ${data['organization']} ${id}`;
    const isDeletion = type.endsWith('Deleted');
    const instant = new Date(data['deletedAt'] ?? data['updatedAt'] ?? data['createdAt']).getTime();
    const isFinal = type === 'AssetStatusChangeDeleted';
    const rank = [isFinal ? NEVER_LATER : instant, Number(isDeletion), eventId] as const;
    const known = newest.get(record);
    const difference = known && (rank[0] - known[0] || rank[1] - known[1] || (rank[2] > known[2] ? 1 : -1));
    const isLater = known === undefined || (rank[0] === known[0] && isFinal ? rank[2] > known[2] : difference! > 0);
    if (!isLater || (known && rank[2] === known[2])) continue;
    newest.set(record, rank);
    const views = viewsOf(kind, id, type, data);
    if (kind === 'verdict')
      for (const other of seen.values())
        if (other.kind === kind && other.id === id && !views.has(other.organization))
          views.set(other.organization, undefined);
    for (const [organization, item] of views) {
      const key = `${organization} ${kind} ${id}`;
      const before = seen.get(key);
      if (kind === 'verdict' && before && JSON.stringify(before.item) === JSON.stringify(item)) continue;
      seen.set(key, { organization, kind, id, position, eventId, storedAt: recordedAt, item });
    }
  }
  return [...seen.values(), ...disputesIn(events)].sort(
    (a, b) => Number(a.position - b.position) || (a.organization < b.organization ? -1 : 1),
  );
};

import type { PoolClient } from 'pg';
import { type EventOf, parseEvent, toJson } from '../../src/events/event.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import { isLater } from '../../src/events/record.js';
import { hashOf } from '../../src/events/stored-key.js';
import { disputeItem } from '../../src/events/types/verdicts.js';
import { isRedacted, redactData } from '../../src/events/redacted.js';
import type { ProjectedEvent } from '../engine/projection.js';
import type { DateAdded } from './register-clock.js';
import type { Redaction } from './redactions.js';
import { recordId } from '../../src/events/record-id.js';
import { keyOf, type Row } from './row.js';
import { READ_DISPUTES, REDACT_RECORDS, STORE_DISPUTES } from './register-sql.js';

export const DISPUTE_TYPES = ['DisputeFiled', 'DisputeResolved'] as const;
type Type = (typeof DISPUTE_TYPES)[number];
export type DisputeEvent = EventOf<'DisputeFiled'> | EventOf<'DisputeResolved'>;

/** Where and when the log stored an event about a dispute, or the redaction that moved the dispute. */
interface Place {
  readonly position: number;
  /** The `ContentRedacted` at the position. Undefined: the event itself is at the position. */
  readonly movedBy?: string | undefined;
  /** ms */
  readonly recordedAt: number;
}

interface Part<T extends Type> extends Place {
  readonly event: EventOf<T>;
  readonly eventId: string;
}

type AnyPart = Part<'DisputeFiled'> | Part<'DisputeResolved'>;

/** What is known of a dispute. The events may arrive in any order. */
interface State {
  readonly organization: string;
  readonly id: string;
  readonly assetHash?: string | undefined;
  readonly revision?: number | bigint | undefined;
  readonly filed?: Part<'DisputeFiled'> | undefined;
  readonly resolution?: Part<'DisputeResolved'> | undefined;
  /** The place of the last redaction. */
  readonly redaction?: Place | undefined;
}

const kind = LISTED_KIND.dispute;
/** The version of a dispute without a resolution. Every resolution is later, whatever its instant. */
const OPEN = Number.MIN_SAFE_INTEGER;

type Change = ProjectedEvent<DisputeEvent> | Redaction;

const keyOfChange = (change: Change): Pick<State, 'organization' | 'id'> =>
  'event' in change
    ? { organization: change.event.data.organization, id: change.event.data.disputeId }
    : { organization: change.organization, id: change.id };

/** A redacted dispute is listed as if it had been stored when it was redacted. */
const redactedAt = <Filed extends Place>(filed: Filed, redaction: Place | undefined): Filed =>
  redaction && redaction.position > filed.position ? { ...filed, ...redaction } : filed;

/** Redacts a dispute and its resolution, except what was stored after the redaction. */
const redact = (state: State, { assetHash, position, movedBy, recordedAt }: Redaction): State => {
  const redaction = { position: Number(position), movedBy, recordedAt };
  if (state.redaction && state.redaction.position > redaction.position) return state;
  const { filed, resolution } = state;
  if (filed === undefined) return { ...state, redaction };
  if (filed.position > redaction.position || state.assetHash?.replaceAll('-', '') !== assetHash) return state;
  const read = <T extends Type>(part: Part<T>): Part<T> => ({
    ...part,
    event: { ...part.event, data: redactData((part as unknown as AnyPart).event.data) } as unknown as EventOf<T>,
  });
  return {
    ...state,
    filed: redactedAt(read(filed), redaction),
    resolution: resolution && (resolution.position > redaction.position ? resolution : read(resolution)),
    redaction,
  };
};

const textOf = (part: AnyPart | undefined): string | undefined =>
  part && JSON.stringify({ ...part, event: undefined, data: toJson(part.event) });

const partOf = <T extends Type>(type: T, text: string | null): Part<T> | undefined => {
  if (text === null) return undefined;
  const { data, ...stored } = JSON.parse(text) as Omit<AnyPart, 'event'> & { readonly data: unknown };
  return { ...stored, event: parseEvent(type, data).event! };
};

const orderOf = ({ event, eventId }: AnyPart): { readonly version: number; readonly eventId: string } => ({
  version: event.type === 'DisputeFiled' ? event.data.createdAt : event.data.resolvedAt,
  eventId,
});

const apply = (state: State, projected: ProjectedEvent<DisputeEvent>): State => {
  const { event, id: eventId, recordedAt, revision, metadata } = projected;
  const known = event.type === 'DisputeFiled' ? state.filed : state.resolution;
  const part = { eventId, position: Number(projected.position), recordedAt };
  if (known && !isLater(orderOf({ ...part, event } as AnyPart), orderOf(known))) {
    // A copy moves the dispute to the end of the organization's stream.
    const isCopy = event.type === 'DisputeFiled' && eventId === known.eventId && projected.isCopy === true;
    return isCopy ? { ...state, revision } : state;
  }
  return event.type === 'DisputeFiled'
    ? {
        ...state,
        filed: isRedacted(event.data.asset) ? redactedAt({ ...part, event }, state.redaction) : { ...part, event },
        revision,
        assetHash: hashOf({ event, metadata }),
      }
    : { ...state, resolution: { ...part, event } };
};

/** Returns the listed row of a dispute; undefined until the dispute itself is known. */
const listedRow = ({ organization, id, assetHash, filed, resolution }: State): Row | undefined => {
  if (filed === undefined) return undefined;
  const { data } = filed.event;
  const decided = resolution?.event.data;
  const last = resolution && resolution.position > filed.position ? resolution : filed;
  const item = JSON.stringify(disputeItem(data, decided));
  const isListedByAsset = !isRedacted(data.asset);
  const status = decided?.outcome ?? 'OPEN';
  const { eventId } = resolution ?? filed;
  const lastEvent = last.movedBy ?? last.eventId;
  return {
    organization,
    kind,
    id,
    version: resolution ? resolution.event.data.resolvedAt : OPEN,
    eventId,
    position: BigInt(last.position),
    movedBy: lastEvent === eventId ? undefined : lastEvent,
    recordedAt: last.recordedAt,
    view: { item, createdAt: data.createdAt, status, asset: data.asset, brands: [], countedAt: data.createdAt },
    assetHash: isListedByAsset ? assetHash : undefined,
    hasCounted: false,
  };
};

/**
 * Puts disputes together from the events that file and resolve them, and stores the result.
 * @returns the listed rows to store
 */
export const foldDisputes = async (
  events: readonly Change[],
  connection: PoolClient,
  dateOf: DateAdded,
): Promise<readonly Row[]> => {
  const states = new Map<string, State>();
  for (const change of events) {
    const dispute = keyOfChange(change);
    states.set(keyOf({ ...dispute, kind }), dispute);
  }
  for (const { filed, resolution, redaction, revision, assetHash, ...key } of await READ_DISPUTES.runEach(connection, [
    ...states.values(),
  ]))
    states.set(keyOf({ ...key, kind }), {
      ...key,
      assetHash: assetHash ?? undefined,
      revision: revision ?? undefined,
      filed: partOf('DisputeFiled', filed),
      resolution: partOf('DisputeResolved', resolution),
      redaction: redaction === null ? undefined : (JSON.parse(redaction) as Place),
    });
  const redacted = new Set<string>();
  for (const change of events) {
    const key = keyOf({ ...keyOfChange(change), kind });
    const state = states.get(key)!;
    if (!('event' in change)) redacted.add(key);
    states.set(key, 'event' in change ? apply(state, change) : redact(state, change));
  }
  const changed = [...states.values()];
  await STORE_DISPUTES.runEach(
    connection,
    changed.map(({ filed, resolution, redaction, ...state }) => ({
      ...state,
      assetHash: state.assetHash,
      revision: state.revision,
      createdAt: filed?.event.data.createdAt,
      resolvedAt: resolution?.event.data.resolvedAt,
      outcome: resolution?.event.data.outcome,
      requestKeyHash: filed?.event.data.idempotencyKeyHash,
      filed: textOf(filed),
      resolution: textOf(resolution),
      redaction: redaction && JSON.stringify(redaction),
    })),
  );
  const rows = changed.flatMap((state) => listedRow(state) ?? []);
  // A redaction does not change the version of the dispute, so the row has to be changed where it is.
  await REDACT_RECORDS.runEach(
    connection,
    rows
      .filter((row) => redacted.has(keyOf(row)))
      .map(({ movedBy, ...row }) => ({
        ...row,
        record: recordId(row),
        movedBy,
        addedAt: dateOf(row),
        content: row.view!.asset!.content,
        item: row.view!.item,
      })),
  );
  return rows;
};

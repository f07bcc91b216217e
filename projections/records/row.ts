import type { Asset } from '../../src/assets/asset.js';
import type { EventOf } from '../../src/events/event.js';
import { uuidOf } from '../../src/events/streams.js';
import { factsOf, MEASURE } from '../../src/events/facts.js';
import { formatInstant } from '../../src/events/instant.js';
import { type OWNED_TYPES, recordOf, type RecordState } from '../../src/events/record.js';
import { isRedacted } from '../../src/events/redacted.js';
import { hashOf } from '../../src/events/stored-key.js';
import { type ItemOf, kindOf, LISTED_KIND, type ListedKind } from '../../src/events/listed-items.js';
import type { ProjectedEvent } from '../engine/projection.js';

/** Events about a record of one organization. */
export type OwnedEvent = EventOf<(typeof OWNED_TYPES)[number]>;

/** The JSON of a record in lists and in the feed, and the values that filters compare. */
export interface RecordView {
  /** The record as JSON, with the fields that `listed-items.ts` declares. */
  readonly item: string;
  /** When the record was created, in ms. */
  readonly createdAt: number;
  readonly status?: string;
  readonly asset?: Asset;
  readonly brands: readonly string[];
  /** The instant at which the metrics of brands count the record, in ms. */
  readonly countedAt: number;
}

/** A row of `listed_records`. */
export interface Row {
  readonly organization: string;
  readonly kind: number;
  readonly id: string;
  readonly version: number;
  /** The event of the state. */
  readonly eventId: string;
  readonly position: bigint;
  /** The event at the position, if it is not the event of the state. */
  readonly movedBy?: string | undefined;
  /** When the log stored the event, in ms. */
  readonly recordedAt: number;
  /** Undefined if the record was deleted or no longer concerns the organization. */
  readonly view: RecordView | undefined;
  /** Undefined also if the content was redacted. */
  readonly assetHash: string | undefined;
  /** The first of the record's events that this row stands for. Undefined: the event of the row itself. */
  readonly first?: Pick<Row, 'position' | 'recordedAt' | 'addedAt'> | undefined;
  /** `added_at` of the row's position, if it is known, in ms. */
  readonly addedAt?: number | undefined;
  /** The UUID of the record's object in TAXII. Undefined: none of the states counts as a blocked threat. */
  readonly objectId?: string | undefined;
}

/** Returns the UUIDv5 of the object of a record, which never changes; undefined unless the state counts. */
export const objectIdOf = (
  { organization, kind, id }: Pick<Row, 'organization' | 'kind' | 'id'>,
  counts: boolean,
): string | undefined => (counts ? uuidOf(`taxii\n${organization}\n${kindOf(kind)}\n${id}`) : undefined);

/** Adds to a row what an earlier row of the same record knows. */
export const withFirst = (row: Row, earlier: Row | undefined): Row =>
  earlier ? { ...row, first: earlier.first ?? earlier, objectId: earlier.objectId ?? row.objectId } : row;

/** Serialises an item. @param item the fields in the order of the output */
export const itemJson = <Kind extends ListedKind>(item: ItemOf<Kind>): string => JSON.stringify(item);

const viewOf = (event: OwnedEvent, id: string): RecordView | undefined => {
  const { type, data } = event;
  if (type === 'ReportDeleted' || type === 'ThreatDeleted' || type === 'TakedownDeleted') return undefined;
  const createdAt = formatInstant(data.createdAt);
  const updatedAt = formatInstant(data.updatedAt);
  switch (type) {
    case 'ReportFiled': {
      const { brands } = data;
      const item = itemJson<'report'>({ id, brands, createdAt, updatedAt });
      return { item, createdAt: data.createdAt, brands, countedAt: data.createdAt };
    }
    case 'ThreatStatusChanged': {
      const { asset, status } = data;
      const item = itemJson<'threat'>({ id, asset, status, createdAt, updatedAt });
      return { item, createdAt: data.createdAt, status, asset, brands: [], countedAt: data.createdAt };
    }
    case 'TakedownFiled':
    case 'TakedownStatusChanged': {
      const { asset, status, brand } = data;
      const item = itemJson<'takedown'>({ id, asset, status, brand, createdAt, updatedAt });
      const brands = brand === undefined ? [] : [brand];
      return { item, createdAt: data.createdAt, status, asset, brands, countedAt: data.updatedAt };
    }
  }
};

export const rowOf = ({ event, id: eventId, position, recordedAt, metadata }: ProjectedEvent<OwnedEvent>): Row => {
  const { organization, kind, id, version }: RecordState = recordOf(event);
  const view = viewOf(event, id);
  const listedKind = LISTED_KIND[kind as 'report' | 'threat' | 'takedown'];
  const counts = factsOf(event).some(([, , , measure]) => measure === MEASURE.threat);
  const asset = view?.asset;
  return {
    organization,
    kind: listedKind,
    id,
    version,
    eventId,
    position,
    recordedAt,
    view,
    assetHash: asset && !isRedacted(asset) ? hashOf({ event: { data: { asset } }, metadata }) : undefined,
    objectId: objectIdOf({ organization, kind: listedKind, id }, counts),
  };
};

export const keyOf = ({ organization, kind, id }: Pick<Row, 'organization' | 'kind' | 'id'>): string =>
  `${organization}\n${kind}\n${id}`;

import type { Asset } from '../../src/assets/asset.js';
import type { EventOf } from '../../src/events/event.js';
import { factsOf, MEASURE } from '../../src/events/facts.js';
import { type OWNED_TYPES, recordOf, type RecordState } from '../../src/events/record.js';
import { isRedacted, redactAsset } from '../../src/events/redacted.js';
import { hashOf } from '../../src/events/stored-key.js';
import { LISTED_KIND } from '../../src/events/listed-items.js';
import type { ProjectedEvent } from '../engine/projection.js';

/** Events about a record of one organization. */
export type OwnedEvent = EventOf<(typeof OWNED_TYPES)[number]>;

/** What lists, the feed and TAXII show of a record, and what filters compare. */
export interface RecordView {
  /** When the record was created, in ms. */
  readonly createdAt: number;
  readonly status?: string;
  readonly asset?: Asset;
  readonly brands: readonly string[];
  /** The instant at which the metrics of brands count the record, in ms. */
  readonly countedAt: number;
  /** From when on the entry of a verdict does not determine the status of its asset any more, in ms. Undefined: never. */
  readonly expiresAt?: number | undefined;
  /** The item of a dispute as JSON. The items of other records are computed from their columns. */
  readonly item?: string;
}

/** A row of `register`, before its date and its UUID are known. */
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
  /** Whether any of the states counts as a blocked threat. */
  readonly hasCounted: boolean;
}

export const keyOf = ({ organization, kind, id }: Pick<Row, 'organization' | 'kind' | 'id'>): string =>
  `${organization}\n${kind}\n${id}`;

export const redactView = (view: RecordView): RecordView => ({ ...view, asset: redactAsset(view.asset!) });

const viewOf = (event: OwnedEvent): RecordView | undefined => {
  const { type, data } = event;
  if (type === 'ReportDeleted' || type === 'ThreatDeleted' || type === 'TakedownDeleted') return undefined;
  const { createdAt } = data;
  switch (type) {
    case 'ReportFiled':
      return { createdAt, brands: data.brands, countedAt: createdAt };
    case 'ThreatStatusChanged':
      return { createdAt, status: data.status, asset: data.asset, brands: [], countedAt: createdAt };
    case 'TakedownFiled':
    case 'TakedownStatusChanged': {
      const { asset, status, brand } = data;
      return { createdAt, status, asset, brands: brand === undefined ? [] : [brand], countedAt: data.updatedAt };
    }
  }
};

export const rowOf = ({ event, id: eventId, position, recordedAt, metadata }: ProjectedEvent<OwnedEvent>): Row => {
  const { organization, kind, id, version }: RecordState = recordOf(event);
  const view = viewOf(event);
  const asset = view?.asset;
  return {
    organization,
    kind: LISTED_KIND[kind as 'report' | 'threat' | 'takedown'],
    id,
    version,
    eventId,
    position,
    recordedAt,
    view,
    assetHash: asset && !isRedacted(asset) ? hashOf({ event: { data: { asset } }, metadata }) : undefined,
    hasCounted: factsOf(event).some(([, , , measure]) => measure === MEASURE.threat),
  };
};

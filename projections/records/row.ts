import { assetHash } from '../../src/assets/asset-key.js';
import type { Asset } from '../../src/assets/asset.js';
import type { EventOf } from '../../src/events/event.js';
import { type OWNED_TYPES, recordOf, type RecordState } from '../../src/events/record.js';
import { LISTED_KIND } from '../../src/read-models/listed-kind.js';
import type { ProjectedEvent } from '../engine/projection.js';

/** Events about a record of one organization. */
export type OwnedEvent = EventOf<(typeof OWNED_TYPES)[number]>;

/** What lists and the feed show of a record. */
export interface Shown {
  /** ms */
  readonly createdAt: number;
  /** ms; undefined: it has none. */
  readonly updatedAt: number | undefined;
  readonly status: string | undefined;
  readonly asset: Asset | undefined;
  readonly brands: readonly string[];
  /** What the metrics of its brands date it by. ms */
  readonly brandAt: number;
}

/** A row of `listed_records`. */
export interface Row {
  readonly organization: string;
  readonly kind: number;
  readonly id: string;
  readonly version: number;
  readonly eventId: string;
  readonly position: bigint;
  /** ms */
  readonly storedAt: number;
  /** Undefined: deleted, or no longer this organization's business. */
  readonly shown: Shown | undefined;
  /** The asset's hash. */
  readonly hash: string | undefined;
}

const shownOf = (event: OwnedEvent): Shown | undefined => {
  const { type, data } = event;
  switch (type) {
    case 'ReportFiled': {
      const { brands, createdAt, updatedAt } = data;
      return { createdAt, updatedAt, status: undefined, asset: undefined, brands, brandAt: createdAt };
    }
    case 'ThreatStatusChanged': {
      const { asset, status, createdAt, updatedAt } = data;
      return { createdAt, updatedAt, status, asset, brands: [], brandAt: createdAt };
    }
    case 'TakedownFiled':
    case 'TakedownStatusChanged': {
      const { asset, status, brand, createdAt, updatedAt } = data;
      return { createdAt, updatedAt, status, asset, brands: brand === undefined ? [] : [brand], brandAt: updatedAt };
    }
    default:
      return undefined;
  }
};

export const rowOf = ({ event, id: eventId, position, recordedAt }: ProjectedEvent<OwnedEvent>): Row => {
  const { organization, kind, id, version }: RecordState = recordOf(event);
  const shown = shownOf(event);
  return {
    organization,
    kind: LISTED_KIND[kind as 'report' | 'threat' | 'takedown'],
    id,
    version,
    eventId,
    position,
    storedAt: recordedAt,
    shown,
    hash: shown?.asset && assetHash(shown.asset),
  };
};

export const keyOf = ({ organization, kind, id }: Pick<Row, 'organization' | 'kind' | 'id'>): string =>
  `${organization}\n${kind}\n${id}`;

import { assetHash } from '../../src/assets/asset-key.js';
import type { Asset } from '../../src/assets/asset.js';
import type { EventOf } from '../../src/events/event.js';
import { formatInstant } from '../../src/events/instant.js';
import { type OWNED_TYPES, recordOf, type RecordState } from '../../src/events/record.js';
import { type ItemOf, LISTED_KIND, type ListedKind } from '../../src/events/kinds.js';
import type { ProjectedEvent } from '../engine/projection.js';

/** Events about a record of one organization. */
export type OwnedEvent = EventOf<(typeof OWNED_TYPES)[number]>;

/** What lists and the feed show of a record, and what they find it by. */
export interface Shown {
  /** As `kinds.ts` declares it, in JSON. */
  readonly item: string;
  /** ms */
  readonly createdAt: number;
  readonly status?: string;
  readonly asset?: Asset;
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

/** @param item its id and the following fields, in the order in which they are shown */
export const itemJson = <Kind extends ListedKind>(item: ItemOf<Kind>): string => JSON.stringify(item);

const shownOf = (event: OwnedEvent, id: string): Shown | undefined => {
  const { type, data } = event;
  if (type === 'ReportDeleted' || type === 'ThreatDeleted' || type === 'TakedownDeleted') return undefined;
  const createdAt = formatInstant(data.createdAt);
  const updatedAt = formatInstant(data.updatedAt);
  switch (type) {
    case 'ReportFiled': {
      const { brands } = data;
      const item = itemJson<'report'>({ id, brands, createdAt, updatedAt });
      return { item, createdAt: data.createdAt, brands, brandAt: data.createdAt };
    }
    case 'ThreatStatusChanged': {
      const { asset, status } = data;
      const item = itemJson<'threat'>({ id, asset, status, createdAt, updatedAt });
      return { item, createdAt: data.createdAt, status, asset, brands: [], brandAt: data.createdAt };
    }
    case 'TakedownFiled':
    case 'TakedownStatusChanged': {
      const { asset, status, brand } = data;
      const item = itemJson<'takedown'>({ id, asset, status, brand, createdAt, updatedAt });
      const brands = brand === undefined ? [] : [brand];
      return { item, createdAt: data.createdAt, status, asset, brands, brandAt: data.updatedAt };
    }
  }
};

export const rowOf = ({ event, id: eventId, position, recordedAt }: ProjectedEvent<OwnedEvent>): Row => {
  const { organization, kind, id, version }: RecordState = recordOf(event);
  const shown = shownOf(event, id);
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

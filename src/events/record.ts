import { assetHash } from '../assets/asset-key.js';
import type { UpstreamEvent } from './event.js';

/** Events about the records of one organization that are counted and listed. */
export const OWNED_TYPES = [
  'ReportFiled',
  'ReportDeleted',
  'ThreatStatusChanged',
  'ThreatDeleted',
  'TakedownFiled',
  'TakedownStatusChanged',
  'TakedownDeleted',
] as const satisfies readonly UpstreamEvent['type'][];

/** Events about an entry of the status history, which may concern several organizations. */
export const ENTRY_TYPES = ['AssetStatusChanged', 'AssetStatusChangeDeleted'] as const;

export const COUNTED_TYPES = [...OWNED_TYPES, ...ENTRY_TYPES] as const;

/** The record an upstream event is about, and its place in the record's history. */
export interface RecordState {
  /** '' for an entry of the status history, which has no single organization. */
  readonly organization: string;
  readonly kind: RecordKind;
  readonly id: string;
  /**
   * The order within the record: twice the instant, plus one for a deletion, so that a deletion wins over a state at
   * the same instant. The higher event id breaks ties.
   */
  readonly version: number;
}

/** Permanent: streams are named and rows stored by it. */
export type RecordKind = 'report' | 'threat' | 'takedown' | 'assetStatus' | 'brand' | 'featureFlag' | 'groupedAsset';

/** The deletion of a status entry is final: no state can come later. */
const FINAL = Number.MAX_SAFE_INTEGER;

type Owned = { readonly organization: string } & ({ readonly updatedAt: number } | { readonly deletedAt: number });

const owned = (kind: RecordKind, id: string, data: Owned): RecordState => ({
  organization: data.organization,
  kind,
  id,
  version: 'deletedAt' in data ? 2 * data.deletedAt + 1 : 2 * data.updatedAt,
});

export const recordOf = (event: UpstreamEvent): RecordState => {
  const { type, data } = event;
  switch (type) {
    case 'ReportFiled':
    case 'ReportDeleted':
      return owned('report', data.reportId, data);
    case 'ThreatStatusChanged':
    case 'ThreatDeleted':
      return owned('threat', data.threatId, data);
    case 'TakedownFiled':
    case 'TakedownStatusChanged':
    case 'TakedownDeleted':
      return owned('takedown', data.takedownId, data);
    case 'AssetStatusChanged':
      return { organization: '', kind: 'assetStatus', id: data.changeId, version: 2 * data.createdAt };
    case 'AssetStatusChangeDeleted':
      return { organization: '', kind: 'assetStatus', id: data.changeId, version: FINAL };
    case 'BrandRegistered':
    case 'BrandRemoved':
      return owned('brand', data.brand, data);
    case 'FeatureFlagChanged':
      return owned('featureFlag', data.flag, data);
    case 'AssetGrouped':
    case 'AssetUngrouped':
      return owned('groupedAsset', assetHash(data.asset), data);
  }
};

/** When a record's state was set, ms. */
export const timeOf = (version: number): number => Math.floor(version / 2);

/** Whether one state of a record is later than another; arrival order plays no part. */
export const isLater = (
  a: { readonly version: number; readonly eventId: string },
  b: { readonly version: number; readonly eventId: string },
): boolean => a.version > b.version || (a.version === b.version && a.eventId > b.eventId);

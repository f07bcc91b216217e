import { assetHash } from '../assets/asset-key.js';
import type { UpstreamEvent } from './event.js';
import type { DisputeFiled } from './types/verdicts.js';

/** Events about counted and listed records that belong to one organization. */
export const OWNED_TYPES = [
  'ReportFiled',
  'ReportDeleted',
  'ThreatStatusChanged',
  'ThreatDeleted',
  'TakedownFiled',
  'TakedownStatusChanged',
  'TakedownDeleted',
] as const satisfies readonly UpstreamEvent['type'][];

/** Events about entries of the asset status history, which may concern several organizations. */
export const ENTRY_TYPES = ['AssetStatusChanged', 'AssetStatusChangeDeleted'] as const;

export const COUNTED_TYPES = [...OWNED_TYPES, ...ENTRY_TYPES] as const;

/** The record that an upstream event is about, and the version of its state. */
export interface RecordState {
  /** '' for an entry of the asset status history, which may concern several organizations. */
  readonly organization: string;
  readonly kind: RecordKind;
  readonly id: string;
  /**
   * Orders the states of a record: twice the instant in ms, plus one for a deletion. A deletion is therefore later than
   * a state at the same instant. For equal versions, the higher event id is later.
   */
  readonly version: number;
}

/**
 * The kinds of records. The values are permanent, because stream names and stored rows contain the kind. A kind that is
 * listed also has a number and fields in `listed-items.ts`.
 */
export type RecordKind =
  'report' | 'threat' | 'takedown' | 'assetStatus' | 'brand' | 'featureFlag' | 'groupedAsset' | 'dispute';

/** The version of a deleted status entry. The deletion is final: no state is later. */
const FINAL = Number.MAX_SAFE_INTEGER;

type Owned = { readonly organization: string } & ({ readonly updatedAt: number } | { readonly deletedAt: number });

const owned = (kind: RecordKind, id: string, data: Owned): RecordState => ({
  organization: data.organization,
  kind,
  id,
  version: 'deletedAt' in data ? 2 * data.deletedAt + 1 : 2 * data.updatedAt,
});

/** @param hash the `assetHash` of the event's asset. Computed from the content if absent and needed */
export const recordOf = (event: UpstreamEvent | DisputeFiled, hash?: string): RecordState => {
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
      return owned('groupedAsset', hash ?? assetHash(data.asset), data);
    case 'DisputeFiled':
      return owned('dispute', data.disputeId, { organization: data.organization, updatedAt: data.createdAt });
    case 'DisputeResolved':
      return owned('dispute', data.disputeId, { organization: data.organization, updatedAt: data.resolvedAt });
  }
};

/** Returns the instant of a version, in ms. */
export const timeOf = (version: number): number => Math.floor(version / 2);

/** Whether the state `a` of a record is later than `b`. The order in which the states arrived does not matter. */
export const isLater = (
  a: { readonly version: number; readonly eventId: string },
  b: { readonly version: number; readonly eventId: string },
): boolean => a.version > b.version || (a.version === b.version && a.eventId > b.eventId);

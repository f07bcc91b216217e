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

export type RecordKind = 'report' | 'threat' | 'takedown' | 'assetStatus' | 'brand' | 'featureFlag' | 'groupedAsset';

/** The deletion of a status entry is final: no state can come later. */
const FINAL = Number.MAX_SAFE_INTEGER;

const state = (updatedAt: number): number => 2 * updatedAt;
const deletion = (deletedAt: number): number => 2 * deletedAt + 1;

export const recordOf = (event: UpstreamEvent): RecordState => {
  const { type, data } = event;
  switch (type) {
    case 'ReportFiled':
      return { organization: data.organization, kind: 'report', id: data.reportId, version: state(data.updatedAt) };
    case 'ReportDeleted':
      return { organization: data.organization, kind: 'report', id: data.reportId, version: deletion(data.deletedAt) };
    case 'ThreatStatusChanged':
      return { organization: data.organization, kind: 'threat', id: data.threatId, version: state(data.updatedAt) };
    case 'ThreatDeleted':
      return { organization: data.organization, kind: 'threat', id: data.threatId, version: deletion(data.deletedAt) };
    case 'TakedownFiled':
    case 'TakedownStatusChanged':
      return { organization: data.organization, kind: 'takedown', id: data.takedownId, version: state(data.updatedAt) };
    case 'TakedownDeleted':
      return {
        organization: data.organization,
        kind: 'takedown',
        id: data.takedownId,
        version: deletion(data.deletedAt),
      };
    case 'AssetStatusChanged':
      return { organization: '', kind: 'assetStatus', id: data.changeId, version: state(data.createdAt) };
    case 'AssetStatusChangeDeleted':
      return { organization: '', kind: 'assetStatus', id: data.changeId, version: FINAL };
    case 'BrandRegistered':
    case 'BrandRemoved':
      return { organization: data.organization, kind: 'brand', id: data.brand, version: state(data.updatedAt) };
    case 'FeatureFlagChanged':
      return { organization: data.organization, kind: 'featureFlag', id: data.flag, version: state(data.updatedAt) };
    case 'AssetGrouped':
    case 'AssetUngrouped':
      return {
        organization: data.organization,
        kind: 'groupedAsset',
        id: assetHash(data.asset),
        version: state(data.updatedAt),
      };
  }
};

/** When a record's state was set, ms. */
export const timeOf = (version: number): number => Math.floor(version / 2);

/** Whether one state of a record is later than another; arrival order plays no part. */
export const isLater = (
  a: { readonly version: number; readonly eventId: string },
  b: { readonly version: number; readonly eventId: string },
): boolean => a.version > b.version || (a.version === b.version && a.eventId > b.eventId);

import { assetHash } from '../assets/asset-key.js';
import type { DomainEvent } from './event.js';

/**
 * Stream names are permanent. EventStoreDB ends the category at the first dash; the colon separates organizations,
 * because slugs have no colon while ids may.
 */
export const CATEGORIES = [
  'threat',
  'takedown',
  'report',
  'brand',
  'featureFlag',
  'assetStatus',
  'groupedAsset',
  'assetGroups',
] as const;

export const API_KEYS_STREAM = 'apiKeys';
/** Operators' changes to the log itself: `LogOpened`, `ParkedEventDropped`. */
export const OPERATIONS_STREAM = 'operations';

/** Prefixes of all streams of this service; an event store may contain others. */
export const STREAM_PREFIXES: readonly string[] = [
  ...CATEGORIES.map((category) => `${category}-`),
  API_KEYS_STREAM,
  OPERATIONS_STREAM,
];

export const assetGroupsStream = (organization: string): string => `assetGroups-${organization}`;

export const streamOf = (event: DomainEvent): string => {
  const { type, data } = event;
  switch (type) {
    case 'ReportFiled':
    case 'ReportDeleted':
      return `report-${data.organization}:${data.reportId}`;
    case 'ThreatStatusChanged':
    case 'ThreatDeleted':
      return `threat-${data.organization}:${data.threatId}`;
    case 'TakedownFiled':
    case 'TakedownStatusChanged':
    case 'TakedownDeleted':
      return `takedown-${data.organization}:${data.takedownId}`;
    case 'AssetStatusChanged':
    case 'AssetStatusChangeDeleted':
      return `assetStatus-${assetHash(data.asset)}`;
    case 'BrandRegistered':
    case 'BrandRemoved':
      return `brand-${data.organization}:${data.brand}`;
    case 'FeatureFlagChanged':
      return `featureFlag-${data.organization}:${data.flag}`;
    case 'AssetGrouped':
    case 'AssetUngrouped':
      return `groupedAsset-${data.organization}:${assetHash(data.asset)}`;
    case 'AssetGroupCreated':
    case 'AssetGroupRenamed':
    case 'AssetGroupDeleted':
    case 'AssetGroupRefused':
      return assetGroupsStream(data.organization);
    case 'ApiKeyIssued':
    case 'ApiKeyRevoked':
      return API_KEYS_STREAM;
    case 'LogOpened':
    case 'ParkedEventDropped':
      return OPERATIONS_STREAM;
  }
};

import { ASSET_TYPES } from '../../events/asset-types.js';
import type { UpstreamEvent } from '../../events/event.js';

/**
 * The event types that an organization's own key may send. A new event type is not allowed until it is added here. Verdicts
 * are excluded because they affect all organizations, and brands and flags because the operator grants them.
 */
export const OWN_KEY_TYPES: ReadonlySet<string> = new Set<UpstreamEvent['type']>([
  'ReportFiled',
  'ReportDeleted',
  'ThreatStatusChanged',
  'ThreatDeleted',
  'TakedownFiled',
  'TakedownStatusChanged',
  'TakedownDeleted',
  'AssetGrouped',
  'AssetUngrouped',
]);

/** Returns why a key of this organization may not send the event; undefined if it may. */
export const permissionIssue = ({ type, data }: UpstreamEvent, organization: string): string | undefined => {
  if (!OWN_KEY_TYPES.has(type) || !('organization' in data))
    return `type ${type} needs an ingest key without an organization; this key is for ${organization}`;
  if (data.organization !== organization) return `data.organization must be this key's organization, ${organization}`;
  if ('asset' in data && !ASSET_TYPES.has(data.asset.type))
    return `data.asset.type is unknown; an organization's own key may send ${[...ASSET_TYPES].join(', ')}`;
  return undefined;
};

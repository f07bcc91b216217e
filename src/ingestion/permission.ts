import { ASSET_TYPES } from '../events/asset-types.js';
import type { UpstreamEvent } from '../events/event.js';

/**
 * What an organization's own key may send. A list of what is allowed: a new type of event is not for such keys until
 * somebody has decided so. Verdicts concern everybody; brands and flags are what the operator grants.
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

/** Why a key of this organization may not send the event; undefined where it may. */
export const permissionIssue = ({ type, data }: UpstreamEvent, organization: string): string | undefined => {
  if (!OWN_KEY_TYPES.has(type) || !('organization' in data))
    return `type ${type} needs an ingest key without an organization; this key is for ${organization}`;
  if (data.organization !== organization)
    return `data.organization is not this key's; it takes events of ${organization} only`;
  if ('asset' in data && !ASSET_TYPES.has(data.asset.type))
    return `data.asset.type is unknown; a key of one organization takes ${[...ASSET_TYPES].join(', ')}`;
  return undefined;
};

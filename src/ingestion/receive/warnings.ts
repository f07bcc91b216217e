import { readAccount } from '../../assets/accounts/payment.js';
import type { GuardedHosts, GuardOfHost } from '../../verdicts/guarded-hosts.js';
import { isNamedWithoutQuery } from '../../assets/asset-key.js';
import { urlKey } from '../../assets/keys.js';
import type { UpstreamEvent } from '../../events/event.js';

const URL_KEY = urlKey('');

/**
 * Returns a warning for each probable mistake of the sender. The event is accepted unchanged, because a record with a
 * mistake is more useful than a missing record.
 * @param found the result of `guardOf`
 * @param isQueryDropped the result of `dropsQuery`
 */
export const warningsOf = ({ data }: UpstreamEvent, found?: GuardOfHost, isQueryDropped = false): string[] => {
  const warnings: string[] = [];
  if ('createdAt' in data && 'updatedAt' in data && data.updatedAt < data.createdAt)
    warnings.push('data.updatedAt is before data.createdAt');
  if ('asset' in data) {
    const { type, content } = data.asset;
    if (content.trim() === '') warnings.push('data.asset.content is blank; no asset check will find it');
    else if (type === 'ADDRESS' && readAccount(content.trim()) === undefined)
      warnings.push('data.asset.content is not an address in any encoding that the asset check reads');
  }
  if (found !== undefined)
    warnings.push(
      `data.asset.content is a ${found.isAbove ? 'domain above a host' : 'host'} that the guard ${found.guard} keeps lists from blocking; the status blocks it`,
    );
  if (isQueryDropped)
    warnings.push(
      'data.asset.content is a page with parameters that do not name it here; the status applies to the page with any parameters',
    );
  return warnings;
};

/** Whether the event gives a status to a page whose link has parameters that do not name the page. */
export const dropsQuery = ({ data }: UpstreamEvent): boolean =>
  'status' in data && 'changeId' in data && data.status !== 'UNKNOWN' && isNamedWithoutQuery(data.asset);

/** Returns the guard of the host which the event blocks as a whole. */
export const guardOf = (
  { data }: UpstreamEvent,
  key: string | undefined,
  hosts: GuardedHosts,
): GuardOfHost | undefined =>
  'status' in data && 'changeId' in data && data.status === 'BLOCKED' && key?.startsWith(URL_KEY) === true
    ? hosts.guardOf(key.slice(URL_KEY.length))
    : undefined;

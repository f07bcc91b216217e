import { readAccount } from '../../assets/accounts/account.js';
import type { UpstreamEvent } from '../../events/event.js';

/**
 * What is probably a sender's mistake in an event that is taken as it is: upstream's records are history, and a wrong
 * one is better than none.
 */
export const warningsOf = ({ data }: UpstreamEvent): string[] => {
  const warnings: string[] = [];
  if ('createdAt' in data && 'updatedAt' in data && data.updatedAt < data.createdAt)
    warnings.push('data.updatedAt is before data.createdAt');
  if ('asset' in data) {
    const { type, content } = data.asset;
    if (content.trim() === '') warnings.push('data.asset.content is blank; no asset check will find it');
    else if (type === 'ADDRESS' && readAccount(content.trim()) === undefined)
      warnings.push('data.asset.content is not an address in any encoding that the asset check reads');
  }
  return warnings;
};

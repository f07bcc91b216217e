import { readAccount } from '../../assets/accounts/payment.js';
import type { UpstreamEvent } from '../../events/event.js';

/**
 * Returns a warning for each probable mistake of the sender. The event is accepted unchanged, because a record with a
 * mistake is more useful than a missing record.
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

import { MAX_LIST } from './reading.js';

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/**
 * How many facts counting an event may write or take away: what it costs, where an event alone says little. It reads the
 * data as sent or stored, before anybody has checked them, so that it can be asked of anything at no cost.
 * A state that replaces another one may cost that one's facts as well; which they are only the tables know.
 */
export const factsAtMost = ({ type, data }: { readonly type: string; readonly data: unknown }): number => {
  if (type === 'ReportFiled') return 1 + lengthOf((data as { brands?: unknown } | null)?.brands);
  if (type === 'AssetStatusChanged') return 1 + lengthOf((data as { brandReviews?: unknown } | null)?.brandReviews);
  // The deletion takes away what the record named.
  if (type === 'ReportDeleted' || type === 'AssetStatusChangeDeleted') return 1 + MAX_LIST;
  // For the organization and for the brand, filed and completed.
  return type.startsWith('Takedown') ? 4 : 1;
};

import { MAX_LIST } from './reading.js';

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/**
 * An upper bound for the facts that counting an event may add or remove, as far as the event alone tells. Works on
 * unvalidated data, so it can be called on anything. A state that replaces another may also cost that one's facts,
 * which only the tables know.
 */
export const factsAtMost = ({ type, data }: { readonly type: string; readonly data: unknown }): number => {
  if (type === 'ReportFiled') return 1 + lengthOf((data as { brands?: unknown } | null)?.brands);
  if (type === 'AssetStatusChanged') return 1 + lengthOf((data as { brandReviews?: unknown } | null)?.brandReviews);
  // A deletion removes what the record named.
  if (type === 'ReportDeleted' || type === 'AssetStatusChangeDeleted') return 1 + MAX_LIST;
  // Filed and completed, for the organization and for the brand.
  return type.startsWith('Takedown') ? 4 : 1;
};

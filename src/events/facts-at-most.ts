import { MAX_LIST } from './declaring/reading.js';

const lengthOf = (value: unknown): number => (Array.isArray(value) ? value.length : 0);

/** Of an asset that is stored as reported: each writes about as long as a fact. */
const CHARACTERS_PER_FACT = 1_000;
const longText = (data: unknown): number => {
  const content = (data as { asset?: { content?: unknown } | null } | null)?.asset?.content;
  return typeof content === 'string' ? Math.floor(content.length / CHARACTERS_PER_FACT) : 0;
};

/**
 * An upper bound for the rows that counting an event may add, change or remove, as far as the event alone tells. Works
 * on unvalidated data, so it can be called on anything. A state that replaces another may also cost that one's facts,
 * which only the tables know.
 */
export const factsAtMost = ({ type, data }: { readonly type: string; readonly data: unknown }): number => {
  if (type === 'ReportFiled') return 1 + lengthOf((data as { brands?: unknown } | null)?.brands);
  if (type === 'AssetStatusChanged')
    return 1 + lengthOf((data as { brandReviews?: unknown } | null)?.brandReviews) + longText(data);
  // A deletion removes what the record named.
  if (type === 'ReportDeleted' || type === 'AssetStatusChangeDeleted') return 1 + MAX_LIST;
  // The asset's row, and the counts of the group it leaves and of the one it joins.
  if (type === 'AssetGrouped') return 3 + longText(data);
  if (type === 'AssetUngrouped') return 2;
  // Filed and completed, for the organization and for the brand.
  return type.startsWith('Takedown') ? 4 : 1;
};

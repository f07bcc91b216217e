import { truncate } from '../../runtime/truncate.js';
import type { RejectionGroup } from './rejection-groups.js';
import type { RejectedSample } from './statements.js';

/** The maximum length of the data in a sample, in UTF-16 units. */
const MAX_DATA = 2_048;
const MAX_ATTRIBUTE = 256;
const MAX_ISSUES = 10;
const MAX_ITEMS = 20;
const MAX_STRING = 512;

/** Serialises data of any size as truncated JSON, at a bounded cost. */
const truncatedJson = (data: unknown): string | null => {
  let left = MAX_DATA;
  const json = JSON.stringify(data, (_name, value: unknown) => {
    if (left <= 0) return undefined;
    left -= typeof value === 'string' ? Math.min(value.length, MAX_STRING) + 2 : 4;
    if (Array.isArray(value)) return value.slice(0, MAX_ITEMS) as unknown[];
    return typeof value === 'string' ? value.slice(0, MAX_STRING) : value;
  }) as string | undefined;
  return json === undefined ? null : Buffer.from(json.slice(0, MAX_DATA)).subarray(0, MAX_DATA).toString();
};

/** The stored sample of a rejected event. */
export const sampleOf = ({ event, issues }: Pick<RejectionGroup, 'event' | 'issues'>): RejectedSample => ({
  id: event.id === undefined ? null : truncate(event.id, MAX_ATTRIBUTE),
  source: truncate(event.source, MAX_ATTRIBUTE),
  type: truncate(event.type, MAX_ATTRIBUTE),
  issues: issues.slice(0, MAX_ISSUES).map((issue) => truncate(issue, MAX_STRING)),
  data: truncatedJson(event.data),
});

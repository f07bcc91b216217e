import { eventMark, type Place } from './feed-id.js';
import type { ElementRow } from './element.js';
import { type FeedPage, MAX_PARKED, rowsOf } from './statements.js';

/** An element's row, and where it stands. */
export type Placed = Place & { readonly row: ElementRow };

/** The elements that can be told where they stand, each with the parked events before it. */
export const placed = (page: FeedPage): Placed[] => {
  const rows = rowsOf(page);
  const parked = page.parked ?? [];
  // There may be more of them than are known here: then only what stands before the last one, or the first element alone.
  const known = parked.length < MAX_PARKED ? Number.POSITIVE_INFINITY : parked.at(-1)![0];
  let mark = page.parkedBefore ^ page.parkedToFirst;
  let next = rows.length === 0 ? 0 : parked.findIndex(([position]) => position > rows[0]!.position);
  if (next === -1) next = parked.length;
  const elements: Placed[] = [];
  for (const row of rows) {
    if (elements.length > 0 && row.position >= known) break;
    for (; next < parked.length && parked[next]![0] <= row.position; next += 1) mark ^= parked[next]![1];
    elements.push({ position: row.position, event: eventMark(row.eventId), parked: mark, row });
  }
  return elements;
};

import { eventMark, type FeedPosition } from './feed-id.js';
import type { ElementRow } from './element.js';
import { type FeedPage, MAX_PARKED } from './statements.js';

/** An element, and its position in the feed. */
export type PlacedElement = FeedPosition & { readonly row: ElementRow };

/**
 * Returns the elements of a page with their positions in the feed. A position includes a checksum of all parked events
 * up to that position, so the result ends before the first element for which parked events are missing from the page.
 */
export const placedElements = (page: FeedPage): PlacedElement[] => {
  const rows = page.elements;
  const parked = page.parked ?? [];
  // If the list of parked events is truncated, the checksum is known only for elements before the last listed event,
  // and for the first element, whose checksum the statement computes.
  const knownUpTo = parked.length < MAX_PARKED ? Number.POSITIVE_INFINITY : parked.at(-1)![0];
  let mark = page.parkedBefore ^ page.parkedToFirst;
  let next = rows.length === 0 ? 0 : parked.findIndex(([position]) => position > rows[0]!.position);
  if (next === -1) next = parked.length;
  const elements: PlacedElement[] = [];
  for (const row of rows) {
    if (elements.length > 0 && row.position >= knownUpTo) break;
    for (; next < parked.length && parked[next]![0] <= row.position; next += 1) mark ^= parked[next]![1];
    elements.push({ position: row.position, event: eventMark(row.eventId), parked: mark, row });
  }
  return elements;
};

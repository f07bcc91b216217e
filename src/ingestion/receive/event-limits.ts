import { PayloadTooLargeException } from '@nestjs/common';
import type { ListLimit } from '../../http/json/slices.js';
import { MS_PER_DAY } from '../../events/instant.js';

/** Maximum number of events per request. */
export const MAX_EVENTS = 1_000;
/** Maximum size of a request body, in bytes. */
export const MAX_BODY = 8 * 1024 * 1024;

const MAX_AHEAD_MS = MS_PER_DAY;
const MAX_AHEAD_OF_OWN_KEY_MS = 5 * 60_000;

/**
 * The latest time that an event may have now, in ms. The newest state of a record wins, so a state dated in the future
 * blocks all changes until then. An organization's own key may therefore exceed the current time only by a typical clock
 * difference.
 * @param now ms, by the database's clock
 * @param organization the organization of the key; undefined for an upstream key
 */
export const latestFrom = (now: number, organization: string | undefined): number =>
  now + (organization === undefined ? MAX_AHEAD_MS : MAX_AHEAD_OF_OWN_KEY_MS);

class TooManyEvents extends PayloadTooLargeException {
  constructor() {
    super(`A batch may have at most ${MAX_EVENTS} events`);
  }
}

export const EVENTS_OF_A_BATCH: ListLimit = { max: MAX_EVENTS, excess: () => new TooManyEvents() };

import { PayloadTooLargeException } from '@nestjs/common';
import type { ListLimit } from '../../json/slices.js';
import { MS_PER_DAY } from '../../events/instant.js';

/** Of one request. */
export const MAX_EVENTS = 1_000;
/** Of one request, in bytes. */
export const MAX_BODY = 8 * 1024 * 1024;

const MAX_AHEAD_MS = MS_PER_DAY;
const MAX_AHEAD_OF_OWN_KEY_MS = 5 * 60_000;

/**
 * The latest instant (ms) that a key may send now. The newest state of a record wins, so whoever dates one ahead keeps
 * all others from changing it until then: an organization's own key gets no more than clocks differ.
 * @param organization the key's; undefined: upstream's
 */
export const latestFrom = (organization: string | undefined): number =>
  Date.now() + (organization === undefined ? MAX_AHEAD_MS : MAX_AHEAD_OF_OWN_KEY_MS);

class TooManyEvents extends PayloadTooLargeException {
  constructor() {
    super(`A batch may have at most ${MAX_EVENTS} events`);
  }
}

export const EVENTS_OF_A_BATCH: ListLimit = { max: MAX_EVENTS, excess: () => new TooManyEvents() };

import { PayloadTooLargeException } from '@nestjs/common';

/** Of one request. */
export const MAX_EVENTS = 1_000;
/** Of one request, in bytes. */
export const MAX_BODY = 8 * 1024 * 1024;

export class TooManyEvents extends PayloadTooLargeException {
  constructor() {
    super(`A batch may have at most ${MAX_EVENTS} events`);
  }
}

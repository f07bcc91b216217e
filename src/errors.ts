/** The named ways this service says no. `http/error.filter.ts` alone knows which status each one is. */

/** One of many things that were sent, refused. */
export interface Rejection {
  /** Its place in the request, from 0. */
  readonly index: number;
  /** As it was sent, where it has one. */
  readonly id?: string | undefined;
  readonly issues: readonly { readonly message: string }[];
}

/** The input is wrong; `issues` says where, one sentence each. */
export class Invalid extends Error {
  constructor(
    message: string,
    readonly issues: readonly string[] = [],
    /** Where many things were sent and all were refused: which, and why. */
    readonly rejected?: readonly Rejection[],
  ) {
    super(message);
  }
}

/** No key, or none that is good here. */
export class Unauthorized extends Error {
  constructor() {
    super('API key with organization access required');
  }
}

/** The key is good but may not do this. */
export class Forbidden extends Error {}

/** The thing that was named does not exist for the caller. */
export class NotFound extends Error {}

/** What was asked for contradicts what is already there. */
export class Conflict extends Error {
  constructor(
    message: string,
    /** Whether this is the first answer again, to the same `Idempotency-Key`. */
    readonly replayed = false,
  ) {
    super(message);
  }
}

/** Each part of the request is right, but not together with an earlier request. */
export class Unprocessable extends Error {}

/**
 * The log or the database did not answer, so the outcome of what was asked is unknown or nothing was done.
 * Asking again after `retryAfterSeconds` is safe: every write is recognised by its event ids.
 */
export class Unavailable extends Error {
  constructor(
    message: string,
    readonly retryAfterSeconds = 1,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

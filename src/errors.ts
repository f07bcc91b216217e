/** This service's errors. Only `http/errors` maps them to statuses. */

/** One rejected item of a batch. */
export interface Rejection {
  /** Its index in the request, from 0. */
  readonly index: number;
  /** As sent, if it has one. */
  readonly id?: string | undefined;
  readonly issues: readonly { readonly message: string }[];
}

/** Invalid input; `issues` has one message per problem. */
export class Invalid extends Error {
  constructor(
    message: string,
    readonly issues: readonly string[] = [],
    /** The rejected items, if a whole batch was rejected. */
    readonly rejected?: readonly Rejection[],
  ) {
    super(message);
  }
}

/** Missing or invalid key. */
export class Unauthorized extends Error {
  constructor() {
    super('API key with organization access required');
  }
}

/** The key is valid but not allowed to do this. */
export class Forbidden extends Error {}

/** It does not exist for the caller. */
export class NotFound extends Error {}

/** It was there once; the caller has to start again. */
export class Gone extends Error {}

/** The request contradicts existing state. */
export class Conflict extends Error {
  constructor(
    message: string,
    /** Whether this repeats the first response to the same `Idempotency-Key`. */
    readonly replayed = false,
  ) {
    super(message);
  }
}

/** The request is valid in itself but contradicts an earlier one, or its answer would be too large. */
export class Unprocessable extends Error {}

/**
 * The log or the database did not answer: the outcome is unknown, or nothing was done. Retrying after
 * `retryAfterSeconds` is safe: every write is recognised by its event ids.
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

/** A limit of a key, an organization or, without a valid key, an address was exceeded. */
export class TooManyRequests extends Error {
  constructor(
    readonly retryAfterSeconds: number,
    message = 'Rate limit exceeded for this key; retry after the number of seconds in Retry-After',
  ) {
    super(message);
  }
}

/** The path exists, but not with this method. */
export class MethodNotAllowed extends Error {
  constructor(readonly allow: string) {
    super(`Method not allowed; allowed: ${allow}`);
  }
}

export class UriTooLong extends Error {}

/** The body did not arrive in time. */
export class RequestTimeout extends Error {}

/** The errors of this service. Only `http/errors` maps these errors to HTTP statuses. */

/** One rejected item of a batch. */
export interface Rejection {
  /** The zero-based index of the item in the request. */
  readonly index: number;
  /** The id of the item as sent; undefined if the item has no id. */
  readonly id?: string | undefined;
  readonly issues: readonly { readonly message: string }[];
}

/** The client accepts no media type of the resource. */
export class NotAcceptable extends Error {}

/** The input is invalid; `issues` has one message per problem. */
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

/** The request has no key, or an invalid key. */
export class Unauthorized extends Error {
  /** @param issues what is wrong with the header or the form of the key; never whether the key exists */
  constructor(readonly issues: readonly string[] = []) {
    super('API key with organization access required');
  }
}

/** The key is valid, but does not permit the request. */
export class Forbidden extends Error {}

/** The resource does not exist, or the caller may not see it. */
export class NotFound extends Error {}

/**
 * The cursor or token belongs to another log, or to a state of the log that was lost. The caller has to repeat the
 * request without the cursor or token.
 */
export class Gone extends Error {}

/** The request contradicts existing state. */
export class Conflict extends Error {
  constructor(
    message: string,
    /** Whether the response repeats the first response to the same `Idempotency-Key`. */
    readonly replayed = false,
  ) {
    super(message);
  }
}

/** An organization of the events was erased, or is being erased. Its keys are invalid from the same moment on. */
export class OrganizationIsErased extends Conflict {
  constructor() {
    super('The organization was erased, and its slug cannot be used again: use another slug');
  }
}

/** The request is valid, but contradicts an earlier request, or the response would be too large. */
export class Unprocessable extends Error {}

/**
 * The request cannot be answered now, usually because the log or the database did not respond. Either nothing was done,
 * or the outcome is unknown. Retrying after `retryAfterSeconds` is safe, because the log recognises repeated writes by
 * their event ids.
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

/**
 * The caller has exceeded the limit of its key, of its organization or, if the request has no valid key, of its IP
 * address.
 */
export class TooManyRequests extends Error {
  constructor(
    readonly retryAfterSeconds: number,
    message = 'Rate limit exceeded for this key; retry after the number of seconds in Retry-After',
  ) {
    super(message);
  }
}

/** The path does not support the method of the request. */
export class MethodNotAllowed extends Error {
  constructor(readonly allow: string) {
    super(`Method not allowed; allowed: ${allow}`);
  }
}

export class UriTooLong extends Error {}

/** The body did not arrive in time. */
export class RequestTimeout extends Error {}

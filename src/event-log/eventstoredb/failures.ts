import { Invalid, Unavailable } from '../../errors.js';
import { type ExpectedRevision, WrongExpectedRevision } from '../event-log.js';

/** The store denied access, so the call is not retried. */
export class DeniedByStore extends Error {}

/** The stream was deleted for good, with a tombstone. */
export class StreamDeleted extends Error {}

/** An error of the client package. Some errors have a type and no code, other errors a code and no type. */
interface FailedCall {
  readonly type?: string;
  readonly code?: number;
  readonly message?: string;
  readonly details?: string;
  readonly actualVersion?: bigint | string;
}

/** gRPC status codes. */
const PERMISSION_DENIED = 7;
const UNAUTHENTICATED = 16;

/** Messages of the server about its state, which the client reports as "Could not recognize …", and their meaning. */
const STATES: readonly (readonly [pattern: RegExp, meaning: string])[] = [
  [/Server Is Not Ready/i, 'EventStoreDB is not ready: it is starting, or its cluster has no leader'],
  [/Server Is (Too )?Busy/i, 'EventStoreDB is too busy to take more'],
  [/No leader info available/i, 'This node of EventStoreDB is not the leader, and does not know it yet'],
  [/Leader info available/i, 'This node of EventStoreDB is not the leader'],
  [/Failed to discover/i, 'No node of EventStoreDB that EVENTSTORE_URL names answered, or none of them leads'],
];

/** The prefix that gRPC adds to the server's message. */
const GRPC_PREFIX = /^\d+ [A-Z_]+: /;

export const reasonOf = (error: unknown): string => {
  const { details, message, type } = error as FailedCall;
  const text = (details || message || type || 'no reason given').replace(/\s+/g, ' ').replace(GRPC_PREFIX, '');
  return STATES.find(([pattern]) => pattern.test(text))?.[1] ?? text;
};

const isAccessDenied = (error: unknown): boolean => {
  const { type, code } = error as FailedCall;
  return type === 'access-denied' || code === PERMISSION_DENIED || code === UNAUTHENTICATED;
};

export const isDeletedStream = (error: unknown): boolean => (error as FailedCall).type === 'stream-deleted';

export const isMissingStream = (error: unknown): boolean =>
  (error as FailedCall).type === 'stream-not-found' || isDeletedStream(error);

/** Returns whether no event begins at the requested position. */
export const isInvalidPosition = (error: unknown): boolean => /invalid ?position/i.test(reasonOf(error));

const RESPONSES: ReadonlySet<string | undefined> = new Set([
  'stream-not-found',
  'wrong-expected-version',
  'maximum-append-size-exceeded',
  'stream-deleted',
  'access-denied',
]);

/** Returns whether the error is a response of the store, so that the outcome is known. */
export const isResponse = (error: unknown): boolean => RESPONSES.has((error as FailedCall).type);

export const timedOut = (afterMs: number): Error =>
  new Error(`EventStoreDB did not answer within ${Math.round(afterMs)} ms`);

export const unavailable = (error: unknown): Unavailable =>
  error instanceof Unavailable
    ? error
    : new Unavailable(
        'The event store did not respond, so the outcome is unknown; it is safe to repeat the request',
        1,
        {
          cause: isAccessDenied(error)
            ? new DeniedByStore(reasonOf(error), { cause: error })
            : new Error(reasonOf(error), { cause: error }),
        },
      );

/**
 * Converts an error of an append: to an error that says what is wrong with the call, or to `Unavailable` if the call
 * was not wrong.
 */
export const appendFailure = (stream: string, expected: ExpectedRevision, error: unknown): Error => {
  const { type, actualVersion } = error as FailedCall;
  switch (type) {
    case 'wrong-expected-version':
      return new WrongExpectedRevision(
        stream,
        expected,
        typeof actualVersion === 'bigint' ? actualVersion : 'no-stream',
      );
    case 'maximum-append-size-exceeded':
      return new Invalid(`The events for ${stream} are larger together than the event store takes at once`);
    case 'stream-deleted':
      return new StreamDeleted(
        `Stream ${stream} was deleted in the event store for good; nothing can be appended to it`,
      );
    default:
      return unavailable(error);
  }
};

/**
 * Returns whether an unhandled rejection comes from the client. The client does not await some promises, because it
 * settles the pending calls in another way. The client may also receive responses to calls that it has already given
 * up.
 */
export const isStrayClientRejection = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, type } = error as FailedCall;
  const stack = error.stack ?? '';
  // The client also runs callbacks of this service, whose errors must not be ignored. Therefore the first function that
  // is not of Node must be in the client.
  const origin = stack.split('\n').find((line) => /^\s+at /.test(line) && !line.includes('node:'));
  // The client also discovers the leader in the background.
  if (
    /db-client|grpc-js/.test(origin ?? '') &&
    /db-client.*(batchAppend|backpressuredWrite|discover)|grpc-js/i.test(stack)
  )
    return true;
  return typeof type === 'string' && typeof code === 'number';
};

let isGuarded = false;

/** Prevents unhandled rejections of the client from ending the process. */
export const swallowClientRejections = (): void => {
  if (isGuarded) return;
  isGuarded = true;
  process.on('unhandledRejection', (reason) => {
    // Other unhandled rejections still end the process, as they would without this listener.
    if (!isStrayClientRejection(reason) && process.listenerCount('unhandledRejection') === 1) throw reason;
  });
};

import { Invalid, Unavailable } from '../../errors.js';
import { type ExpectedRevision, WrongExpectedRevision } from '../event-log.js';

/** The store denied access; retrying does not help. */
export class RefusedByStore extends Error {}

/** An error of the client. Some kinds have a name and no code, some a code and no name. */
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

/** The server's own descriptions of its state, which the client reports as "Could not recognize …". */
const STATES: readonly (readonly [said: RegExp, meaning: string])[] = [
  [/Server Is Not Ready/i, 'EventStoreDB is not ready: it is starting, or its cluster has no leader'],
  [/Server Is (Too )?Busy/i, 'EventStoreDB is too busy to take more'],
  [/No leader info available/i, 'This node of EventStoreDB is not the leader, and does not know it yet'],
  [/Leader info available/i, 'This node of EventStoreDB is not the leader'],
  [/Failed to discover/i, 'No node of EventStoreDB that EVENTSTORE_URL names answered, or none of them leads'],
];

/** What gRPC puts in front of the server's message. */
const GRPC_PREFIX = /^\d+ [A-Z_]+: /;

export const reasonOf = (error: unknown): string => {
  const { details, message, type } = error as FailedCall;
  const said = (details || message || type || 'no reason given').replace(/\s+/g, ' ').replace(GRPC_PREFIX, '');
  return STATES.find(([pattern]) => pattern.test(said))?.[1] ?? said;
};

const isRefusal = (error: unknown): boolean => {
  const { type, code } = error as FailedCall;
  return type === 'access-denied' || code === PERMISSION_DENIED || code === UNAUTHENTICATED;
};

export const isMissingStream = (error: unknown): boolean => (error as FailedCall).type === 'stream-not-found';

/** Whether no event begins at the position that was asked for. */
export const isInvalidPosition = (error: unknown): boolean => /invalid ?position/i.test(reasonOf(error));

const ANSWERS: ReadonlySet<string | undefined> = new Set([
  'stream-not-found',
  'wrong-expected-version',
  'maximum-append-size-exceeded',
  'stream-deleted',
  'access-denied',
]);

/** Whether the store answered, so that the failure is its answer. */
export const isAnswer = (error: unknown): boolean => ANSWERS.has((error as FailedCall).type);

export const timedOut = (afterMs: number): Error =>
  new Error(`EventStoreDB did not answer within ${Math.round(afterMs)} ms`);

export const unavailable = (error: unknown): Unavailable =>
  error instanceof Unavailable
    ? error
    : new Unavailable(
        'The event store did not respond, so the outcome is unknown; it is safe to repeat the request',
        1,
        {
          cause: isRefusal(error)
            ? new RefusedByStore(reasonOf(error), { cause: error })
            : new Error(reasonOf(error), { cause: error }),
        },
      );

/** A caller's mistake as itself, everything else as `Unavailable`. */
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
      return new Error(`Stream ${stream} was deleted in the event store for good; nothing can be appended to it`);
    default:
      return unavailable(error);
  }
};

/**
 * The client leaves promises unawaited and settles pending calls by other means; rejections of the former are expected
 * and ignored. So are its late replies to calls that it has already given up.
 */
const isStrayClientRejection = (error: unknown): boolean => {
  if (!(error instanceof Error)) return false;
  const { code, type } = error as FailedCall;
  // Discovery of a cluster without a leader also runs beside the call that needed it.
  if (/db-client.*(batchAppend|backpressuredWrite|discover)|grpc-js/i.test(error.stack ?? '')) return true;
  return typeof type === 'string' && typeof code === 'number';
};

let isGuarded = false;

/** Prevents the client's unhandled rejections from crashing the process. */
export const swallowClientRejections = (): void => {
  if (isGuarded) return;
  isGuarded = true;
  process.on('unhandledRejection', (reason) => {
    // All others still end the process, as they would without this listener.
    if (!isStrayClientRejection(reason) && process.listenerCount('unhandledRejection') === 1) throw reason;
  });
};

import { isNativeError } from 'node:util/types';
import { DatabaseError } from 'pg';
import { ConfigError } from '../runtime/config.js';
import { Unavailable } from '../errors.js';

const STATEMENT_MODE =
  'DATABASE_URL leads to a pooler in statement mode, in which transactions fail: set its pool_mode = session';

/** The database cannot be used as it is, whatever the statement: its encoding or its version is wrong. */
export class UnusableDatabase extends ConfigError {
  constructor(reason: string, options?: ErrorOptions) {
    super(`The database cannot be used: ${reason}`, options);
  }
}

/**
 * Codes of OpenSSL and Node for a certificate that the settings do not trust, or that cannot be parsed. An expired
 * certificate is not included, because the server may renew its certificate at any time.
 */
const UNTRUSTED_CERTIFICATE =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|INVALID_CA|ERR_OSSL_\w+)$/;
const OTHER_HOST = /^(?:ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH)$/;

/** Codes of a certificate that is not valid now, such as CERT_HAS_EXPIRED, and of a failed TLS handshake. */
const INVALID_CERTIFICATE = /^(?:CERT_\w+|ERR_SSL_\w+|EPROTO)$/;

/** PgBouncer uses the code 08P01 for all its errors, including temporary errors. */
const ofPooler = (code: string, message: string, words: string): boolean => code === '08P01' && message.includes(words);

/** A refusal by the database, which lasts until an operator acts. */
interface Refusal {
  readonly is: (code: string, message: string) => boolean;
  /** What the operator has to do. */
  readonly remedy: string;
}

/** The first row that applies counts. */
const REFUSALS: readonly Refusal[] = [
  {
    is: (code) => UNTRUSTED_CERTIFICATE.test(code),
    remedy:
      'name the certificate authority of the server with sslrootcert=FILE in DATABASE_URL, or set sslmode=no-verify to ' +
      'encrypt without verifying the server',
  },
  {
    is: (code) => OTHER_HOST.test(code),
    remedy: 'name a host of the certificate in DATABASE_URL, or give the server a certificate for this host',
  },
  {
    is: (_, message) => message === 'The server does not support SSL connections',
    remedy: 'enable TLS on the server, or set sslmode=disable in DATABASE_URL',
  },
  {
    is: (code, message) => code === '28P01' || code === '28000' || ofPooler(code, message, 'authentication failed'),
    remedy: 'correct the user and password in DATABASE_URL, or let the server accept them',
  },
  {
    is: (code, message) => code === '55000' && message.includes('not currently accepting connections'),
    remedy: 'let the database accept connections (alter database NAME allow_connections true)',
  },
  {
    is: (code, message) =>
      code === '3D000' || ofPooler(code, message, 'no such database') || ofPooler(code, message, 'does not exist'),
    remedy: 'create the database, or correct its name in DATABASE_URL',
  },
  {
    is: (code) => code === '42501',
    remedy:
      'the role needs the right to connect and to create schemas (grant connect, create on database NAME to ROLE), or ' +
      'must own the schemas log, read and service',
  },
];

/**
 * @returns what the operator has to do about a refusal by the database, such as a wrong password; undefined for any
 *   other error
 */
const adviceFor = (code: unknown, message: string): string | undefined => {
  const text = typeof code === 'string' ? code : '';
  if (ofPooler(text, message, 'statement pooling mode')) return STATEMENT_MODE;
  const refusal = REFUSALS.find(({ is }) => is(text, message));
  return refusal && `${message}; ${refusal.remedy}`;
};

/**
 * Converts an error of the first connection of a process: returns a `ConfigError` if the database refuses the settings,
 * otherwise the error itself. Once a connection has succeeded, the settings were right, and a refusal is waited for like
 * any other failure of the database (`isTransient`), because the operator may be changing a password.
 */
export const asConfigError = (error: unknown): unknown => {
  if (!isNativeError(error)) return error;
  const advice = adviceFor((error as { code?: unknown }).code, error.message);
  return advice === undefined ? error : new UnusableDatabase(advice, { cause: error });
};

/** SQLSTATE classes of a database that rejects connections, has no resources left or is shutting down. */
const OF_CONNECTION = /^(?:08|53|57P)/;
/**
 * SQLSTATEs of a statement that is not wrong, but failed because of the state of the database. 25006: the server is
 * read-only, as after a failover. 26000 and 42P05: a pooler has lost a prepared statement or confused it with that of
 * another client.
 */
const OF_STATEMENT = /^(?:40001|40P01|55P03|57014|25P03|25006|26000|42P05)/;
const CONNECTION_ERRORS = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOENT',
  'EHOSTUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
]);
/** Errors of `pg` that have no code: a lost connection, or a timeout of the client. */
const CONNECTION_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Connection ended unexpectedly|client was closed|Cannot use a pool after calling end/i;

/**
 * `Retry-After` after a statement timeout. The same statement at once would only take as long again: a busy database needs
 * time, and a client that asks for too much needs another request.
 */
export const TIMED_OUT_RETRY_SECONDS = 60;

/** Whether the database cancelled a statement because of `statement_timeout`. */
export const isStatementTimeout = (error: unknown): boolean => {
  const cause = error instanceof Unavailable ? error.cause : error;
  return cause instanceof Error && 'code' in cause && cause.code === '57014';
};

/** Whether the database refuses the process: its log-in, certificate, rights or version. The statement is not the cause. */
export const isRefusal = (error: unknown): boolean => asConfigError(error) instanceof UnusableDatabase;

/**
 * The message of an error for the log; for a refusal, with what the operator has to do. If Node has tried several
 * addresses, the errors of these have the messages.
 */
export const failureText = (error: unknown): string => {
  const reason = asConfigError(error);
  if (!isNativeError(reason)) return String(reason);
  const { errors } = reason as { errors?: unknown };
  return reason.message === '' && Array.isArray(errors) ? errors.map(failureText).join(', ') : reason.message;
};

/**
 * Whether a failed statement may succeed if it is retried: the database was unavailable, restarting, full or busy, or
 * refuses the process until an operator has repaired the cause.
 */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof Unavailable || isRefusal(error)) return true;
  // `instanceof Error` is not used, because an error of a socket of Node may come from another realm.
  if (!isNativeError(error)) return false;
  const { code, errors } = error as { code?: unknown; errors?: unknown };
  if (
    typeof code === 'string' &&
    (OF_CONNECTION.test(code) ||
      OF_STATEMENT.test(code) ||
      CONNECTION_ERRORS.has(code) ||
      INVALID_CERTIFICATE.test(code))
  )
    return true;
  // If Node has tried several addresses, Node reports the errors of these addresses together.
  if (Array.isArray(errors)) return errors.some(isTransient);
  return CONNECTION_MESSAGES.test(error.message);
};

/** Whether a statement exceeded `query_timeout`. The connection of the statement still waits for the response. */
export const isQueryTimeout = (error: unknown): boolean =>
  isNativeError(error) && error.message === 'Query read timeout';

/**
 * SQLSTATE classes of errors whose cause is the data of a statement: cardinality, data, integrity, limits. Any other
 * error, such as a missing table, would occur with any data.
 */
const DATA_ERROR = /^(21|22|23|44|54|P0)/;

/** Whether the data of a statement caused an error of the database. */
export const isDataError = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && DATA_ERROR.test(String(error.code)) && !isTransient(error);

/** Whether a server rejected a write because it is read-only: it is a standby, or was demoted. */
export const isReadOnly = (error: unknown): boolean =>
  ((error instanceof Unavailable ? error.cause : error) as { code?: unknown } | undefined)?.code === '25006';

/** Whether an error came from the database server, not from the connection. */
export const isDatabaseError = (error: unknown): boolean => error instanceof DatabaseError;

let tellFailure: (text: string) => void = () => {};

/**
 * Sets a listener for failed connections that become `Unavailable`, whose message, which clients see, does not name the
 * cause.
 * @param listener called for every statement that fails because of its connection
 */
export const onConnectionFailure = (listener: (text: string) => void): void => {
  tellFailure = listener;
};

/**
 * Converts an error for callers: `Unavailable` if a retry may help, otherwise the error itself. Use this function only
 * for errors of database calls, because a missing file has the same code (ENOENT) as a missing Unix socket.
 */
export const asUnavailable = (error: unknown): unknown => {
  if (error instanceof Unavailable || !isTransient(error)) return error;
  if (isRefusal(error)) tellFailure(failureText(error));
  else if (!OF_STATEMENT.test(String((error as { code?: unknown }).code)))
    tellFailure(`The database does not answer: ${failureText(error)}`);
  return new Unavailable('The database did not answer; try again', 1, { cause: error });
};

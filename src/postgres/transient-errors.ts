import { DatabaseError } from 'pg';
import { isNativeError } from 'node:util/types';
import { Unavailable } from '../errors.js';
import { asConfigError } from './unusable-database.js';

/**
 * SQLSTATE classes and codes of a database that is unavailable, busy or shutting down; the statement itself is not
 * wrong. 25006: the server is read-only, as after a failover. 26000 and 42P05: a pooler has lost a prepared statement or
 * confused it with that of another client.
 */
const TRANSIENT = /^(08|53|57P|40001|40P01|55P03|57014|25P03|25006|26000|42P05)/;
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

/** Whether a failed statement may succeed if it is retried: the database was unavailable, restarting, full or busy. */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof Unavailable) return true;
  // `instanceof Error` is not used, because an error of a socket of Node may come from another realm.
  if (!isNativeError(error)) return false;
  const { code, errors } = error as { code?: unknown; errors?: unknown };
  if (asConfigError(error) !== error) return false;
  if (typeof code === 'string' && (TRANSIENT.test(code) || CONNECTION_ERRORS.has(code))) return true;
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

/**
 * Converts an error for callers: `Unavailable` if a retry may help, otherwise the error itself. Use this function only
 * for errors of database calls, because a missing file has the same code (ENOENT) as a missing Unix socket.
 */
export const asUnavailable = (error: unknown): unknown =>
  isTransient(error) && !(error instanceof Unavailable)
    ? new Unavailable('The database did not answer; try again', 1, { cause: error })
    : error;

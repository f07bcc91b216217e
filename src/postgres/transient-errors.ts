import { DatabaseError } from 'pg';
import { isNativeError } from 'node:util/types';
import { Unavailable } from '../errors.js';
import { asConfigError } from './unusable-database.js';

/**
 * SQLSTATE classes and codes that say the database is unavailable, busy or shutting down, not that the statement is
 * wrong. 25006: it takes no writes, so another server does, or will. 26000 and 42P05: a pooler has lost a prepared
 * statement, or mixed it up with another client's.
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
/** `pg`'s messages without a code for a lost connection or an exceeded client-side timeout. */
const CONNECTION_MESSAGES =
  /Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Connection ended unexpectedly|client was closed|Cannot use a pool after calling end/i;

/** Whether the database ended a statement because it took longer than it may (`statement_timeout`). */
export const isStatementTimeout = (error: unknown): boolean => {
  const cause = error instanceof Unavailable ? error.cause : error;
  return cause instanceof Error && 'code' in cause && cause.code === '57014';
};

/**
 * Whether a failed statement may succeed later, unchanged: the database was unavailable, restarting, full or contended.
 */
export const isTransient = (error: unknown): boolean => {
  if (error instanceof Unavailable) return true;
  // Not `instanceof Error`: what Node's own sockets say may come from another realm.
  if (!isNativeError(error)) return false;
  const { code, errors } = error as { code?: unknown; errors?: unknown };
  if (asConfigError(error) !== error) return false;
  if (typeof code === 'string' && (TRANSIENT.test(code) || CONNECTION_ERRORS.has(code))) return true;
  // Node tries several addresses and reports them together.
  if (Array.isArray(errors)) return errors.some(isTransient);
  return CONNECTION_MESSAGES.test(error.message);
};

/** Whether a connection still waits for the answer to a statement whose time (`query_timeout`) is over. */
export const isQueryTimeout = (error: unknown): boolean =>
  isNativeError(error) && error.message === 'Query read timeout';

/** Whether a server refused a write because it takes none: it is a standby, or was demoted. */
export const isReadOnly = (error: unknown): boolean =>
  ((error instanceof Unavailable ? error.cause : error) as { code?: unknown } | undefined)?.code === '25006';

/** Whether a server said it, of whatever kind. */
export const isDatabaseError = (error: unknown): boolean => error instanceof DatabaseError;

/**
 * A database error as callers are to see it: `Unavailable` if asking again may help, else itself. For errors of calls to
 * the database only: a file that is missing has the code of a socket that is.
 */
export const asUnavailable = (error: unknown): unknown =>
  isTransient(error) && !(error instanceof Unavailable)
    ? new Unavailable('The database did not answer; try again', 1, { cause: error })
    : error;

import { isNativeError } from 'node:util/types';
import type { Pool } from 'pg';
import { ConfigError } from '../runtime/config.js';
import { BACKEND } from './statements.js';

const POOLER =
  'DATABASE_URL leads to a transaction pooler, which gives each transaction another connection: use its session ' +
  'pooling, or the address of PostgreSQL itself';

const UNSUPPORTED_PARAMETER =
  'DATABASE_URL leads to a pooler that does not pass on the time limits of statements: set its pool_mode = session and ' +
  'ignore_startup_parameters = statement_timeout, lock_timeout, idle_in_transaction_session_timeout, or use the ' +
  'address of PostgreSQL itself';

/** What a pooler says where this service relies on one connection. */
const POOLER_CODES = new Set(['42P05', '26000']);

/** @returns a sentence with what to do about a database error that waiting does not fix; undefined if it may */
const sentenceOf = (code: unknown, message: string): string | undefined => {
  const cannotBeUsed = (remedy: string): string => `The database cannot be used: ${message}; ${remedy}`;
  // PgBouncer answers everything with 08P01, temporary trouble too.
  const says = (words: string): boolean => code === '08P01' && message.includes(words);
  if (says('unsupported startup parameter')) return UNSUPPORTED_PARAMETER;
  if (POOLER_CODES.has(String(code))) return POOLER;
  if (code === '28P01' || code === '28000' || says('authentication failed'))
    return cannotBeUsed('correct user and password in DATABASE_URL, or let the server accept them');
  if (code === '3D000' || says('no such database') || says('does not exist'))
    return cannotBeUsed('create it, or correct the name in DATABASE_URL');
  if (code === '42501')
    return cannotBeUsed(
      'the role needs the right to create schemas (grant create on database NAME to ROLE), or must own the schemas ' +
        'log and read',
    );
  return undefined;
};

/** A database error as the start of a process reports it: a sentence if only the operator can fix it, otherwise the error itself. */
export const asConfigError = (error: unknown): unknown => {
  if (!isNativeError(error)) return error;
  const sentence = sentenceOf((error as { code?: unknown }).code, error.message);
  return sentence === undefined ? error : new ConfigError(sentence, { cause: error });
};

/**
 * Recognises a pooler that gives each transaction another connection, before anything fails by chance: two connections
 * that are open at once are then one process of the server.
 * @throws ConfigError if it is one
 */
export const refuseTransactionPooler = async (pool: Pool): Promise<void> => {
  const connections = [await pool.connect(), await pool.connect()] as const;
  try {
    const pids = [];
    for (const connection of connections) pids.push((await BACKEND.plan(connection, {}))[0]!.pid);
    if (pids[0] === pids[1]) throw new ConfigError(POOLER);
  } finally {
    for (const connection of connections) connection.release();
  }
};

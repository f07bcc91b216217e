import { isNativeError } from 'node:util/types';
import { ConfigError } from '../runtime/config.js';

const MIXES_STATEMENTS =
  'DATABASE_URL leads to a pooler that gives each statement another connection: set its pool_mode = session';

/** @returns a sentence with what to do about a database error that waiting does not fix; undefined if it may */
const sentenceOf = (code: unknown, message: string): string | undefined => {
  const cannotBeUsed = (remedy: string): string => `The database cannot be used: ${message}; ${remedy}`;
  // PgBouncer answers everything with 08P01, temporary trouble too.
  const says = (words: string): boolean => code === '08P01' && message.includes(words);
  if (says('statement pooling mode')) return MIXES_STATEMENTS;
  if (code === '28P01' || code === '28000' || says('authentication failed'))
    return cannotBeUsed('correct user and password in DATABASE_URL, or let the server accept them');
  if (code === '3D000' || says('no such database') || says('does not exist'))
    return cannotBeUsed('create it, or correct the name in DATABASE_URL');
  if (code === '42501')
    return cannotBeUsed(
      'the role needs the right to create schemas (grant create on database NAME to ROLE), or must own the schemas ' +
        'log, read and service',
    );
  return undefined;
};

/** A database error as the start of a process reports it: a sentence if only the operator can fix it, otherwise the error itself. */
export const asConfigError = (error: unknown): unknown => {
  if (!isNativeError(error)) return error;
  const sentence = sentenceOf((error as { code?: unknown }).code, error.message);
  return sentence === undefined ? error : new ConfigError(sentence, { cause: error });
};

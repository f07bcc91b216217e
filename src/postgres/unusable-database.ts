import { isNativeError } from 'node:util/types';
import { ConfigError } from '../runtime/config.js';

const STATEMENT_MODE =
  'DATABASE_URL leads to a pooler in statement mode, in which transactions fail: set its pool_mode = session';

/**
 * Codes of OpenSSL and Node for a certificate that the settings do not trust, or that cannot be parsed. An expired
 * certificate is not included, because the server may renew its certificate at any time.
 */
const UNTRUSTED_CERTIFICATE =
  /^(?:DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|ERR_TLS_CERT_ALTNAME_INVALID|HOSTNAME_MISMATCH|INVALID_CA|ERR_OSSL_\w+)$/;

/** @returns what the operator has to do about the database error; undefined if waiting may fix it */
const adviceFor = (code: unknown, message: string): string | undefined => {
  const cannotBeUsed = (remedy: string): string => `The database cannot be used: ${message}; ${remedy}`;
  // PgBouncer uses the code 08P01 for all its errors, including temporary errors.
  const says = (words: string): boolean => code === '08P01' && message.includes(words);
  if (says('statement pooling mode')) return STATEMENT_MODE;
  if (typeof code === 'string' && UNTRUSTED_CERTIFICATE.test(code))
    return cannotBeUsed(
      'name the certificate authority of the server with sslrootcert=FILE in DATABASE_URL, or set sslmode=no-verify to ' +
        'encrypt without verifying the server',
    );
  if (message === 'The server does not support SSL connections')
    return cannotBeUsed('enable TLS on the server, or set sslmode=disable in DATABASE_URL');
  if (code === '28P01' || code === '28000' || says('authentication failed'))
    return cannotBeUsed('correct the user and password in DATABASE_URL, or let the server accept them');
  if (code === '3D000' || says('no such database') || says('does not exist'))
    return cannotBeUsed('create the database, or correct its name in DATABASE_URL');
  if (code === '42501')
    return cannotBeUsed(
      'the role needs the right to create schemas (grant create on database NAME to ROLE), or must own the schemas ' +
        'log, read and service',
    );
  return undefined;
};

/**
 * Converts a database error at the start of a process: returns a `ConfigError` if only the operator can fix the cause,
 * otherwise the error itself.
 */
export const asConfigError = (error: unknown): unknown => {
  if (!isNativeError(error)) return error;
  const advice = adviceFor((error as { code?: unknown }).code, error.message);
  return advice === undefined ? error : new ConfigError(advice, { cause: error });
};

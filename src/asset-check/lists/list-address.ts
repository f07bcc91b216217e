import { scryptSync } from 'node:crypto';

/** A list's address as it may be shown and kept: user, password, query and fragment may hold secrets. */
export const withoutSecrets = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
};

/**
 * What tells two addresses apart that look the same without their secrets: two queries of one server are two lists. A
 * slow hash, for it stays on the disk and a password may be short.
 * @returns empty where there is nothing secret in it
 */
export const fingerprintOfSecrets = (url: string): string => {
  const { username, password, search } = new URL(url);
  const secrets = [username, password, search];
  return secrets.some((part) => part !== '')
    ? scryptSync(JSON.stringify(secrets), withoutSecrets(url), 16).toString('base64url')
    : '';
};

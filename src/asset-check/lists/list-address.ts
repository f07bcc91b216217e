import { scryptSync } from 'node:crypto';

/** Removes user, password, query and fragment from a URL, because they may contain secrets. */
export const withoutSecrets = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
};

/**
 * Returns a hash of the secrets of a URL, which distinguishes URLs that differ only in their secrets: two queries to
 * one server are two lists. The hash is slow to compute, because the hash is stored on disk and a password may be
 * short.
 * @returns '' if the URL has no secrets
 */
export const fingerprintOfSecrets = (url: string): string => {
  const { username, password, search } = new URL(url);
  const secrets = [username, password, search];
  return secrets.some((part) => part !== '')
    ? scryptSync(JSON.stringify(secrets), withoutSecrets(url), 16).toString('base64url')
    : '';
};

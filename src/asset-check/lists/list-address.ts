import { scryptSync } from 'node:crypto';

/** A list's URL without user, password, query and fragment, which may hold secrets; safe to show and store. */
export const withoutSecrets = (url: string): string => {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
};

/**
 * Distinguishes URLs that are equal without their secrets: two queries to one server are two lists. Slow to compute,
 * because it is stored on disk and a password may be short.
 * @returns '' if the URL has no secrets
 */
export const fingerprintOfSecrets = (url: string): string => {
  const { username, password, search } = new URL(url);
  const secrets = [username, password, search];
  return secrets.some((part) => part !== '')
    ? scryptSync(JSON.stringify(secrets), withoutSecrets(url), 16).toString('base64url')
    : '';
};

import type { FastifyRequest } from 'fastify';
import { isTaxii } from '../taxii.js';

/** `Token` is what `TokenAuth` of the OASIS client sends. */
const CREDENTIALS = /^(bearer|token|basic) +([^ ]+) *$/i;
const KEY_PREFIX = 'tp_';

/** The path of local lists. */
export const LISTS_PATH = 'v2/lists';
/** The path of Safe Browsing v5, whose clients look up local lists. */
export const SAFE_BROWSING_PATH = 'v5';
const IS_LISTS = new RegExp(`^/(?:${LISTS_PATH}|${SAFE_BROWSING_PATH})(?=[/?]|$)`);

/**
 * Returns the API key of a request: `X-API-KEY`; on the routes of TAXII also `Authorization`, and on those of local lists
 * also the query parameter `key`, because a key that reads only lists is no secret. Of a user name and a password, the one
 * that has the form of a key is the key, because clients name their fields differently.
 */
export const keyOf = ({ headers, url, query }: FastifyRequest): string | undefined => {
  const key = headers['x-api-key'];
  if (typeof key === 'string') return key;
  if (IS_LISTS.test(url)) {
    const { key: inQuery } = query as { readonly key?: unknown };
    return typeof inQuery === 'string' ? inQuery : undefined;
  }
  const [, scheme, credentials] = (isTaxii(url) && CREDENTIALS.exec(headers.authorization ?? '')) || [];
  if (scheme?.toLowerCase() !== 'basic') return credentials;
  const [, user, password] = /^([^:]*):?(.*)$/s.exec(Buffer.from(credentials!, 'base64').toString())!;
  return user!.startsWith(KEY_PREFIX) ? user : password;
};

/** Whether the key of a request is in its query, where logs of others may show it. */
export const isKeyInQuery = ({ headers, url }: FastifyRequest): boolean =>
  typeof headers['x-api-key'] !== 'string' && IS_LISTS.test(url);

import { isIP } from 'node:net';
import { hostOf, NOT_PUBLIC } from '../egress/destinations.js';
import type { NetworkPolicy } from '../egress/network-policy.js';
import { MAX_URL } from '../events/types/webhooks.js';
import { readUrl } from '../runtime/read-url.js';

const HTTPS_PORT = 443;
/** The lowest port that needs no privileges. Lower ports belong to other services. */
const FIRST_UNPRIVILEGED_PORT = 1_024;

/** Matches a host name with an empty label, which cannot resolve; `host` is without the dot at its end. */
const EMPTY_LABEL = /^$|^\.|\.\.|\.$/;

/** The `port` of a `URL` is empty if it is the default port of the scheme. */
const hasAllowedPort = ({ port }: URL): boolean =>
  port === '' || Number(port) === HTTPS_PORT || Number(port) >= FIRST_UNPRIVILEGED_PORT;

/**
 * Parses and checks the URL of an endpoint.
 * @returns the normalised URL without its fragment, or an `issue` that reveals nothing about the host's network
 */
export const readAddress = (
  text: unknown,
  policy: NetworkPolicy,
): { readonly url: string; readonly issue?: undefined } | { readonly url?: undefined; readonly issue: string } => {
  if (typeof text !== 'string' || text === '') return { issue: 'url is required' };
  // oxlint-disable-next-line no-control-regex
  const url = text.length > MAX_URL || /[\s\0-\x1f\x7f\\]/.test(text) ? undefined : readUrl(text);
  if (url === undefined)
    return { issue: `url must be a URL of at most ${MAX_URL} characters, such as https://example.com/webhooks` };
  const host = hostOf(url);
  if (EMPTY_LABEL.test(host)) return { issue: 'url: the host name has an empty part between dots' };
  const isHttp =
    url.protocol === 'http:' && policy.allowsNetworks && (isIP(host) === 0 || policy.isAllowedByOperator(host));
  if (url.protocol !== 'https:' && !isHttp) return { issue: 'url must begin with https://' };
  if (url.username !== '' || url.password !== '') return { issue: 'url must not contain a user or password' };
  if (!hasAllowedPort(url))
    return { issue: `url must have port ${HTTPS_PORT}, or a port of ${FIRST_UNPRIVILEGED_PORT} or above` };
  if (!policy.permitsHost(host)) return { issue: `url: ${NOT_PUBLIC}` };
  url.hash = '';
  return url.href.length > MAX_URL ? { issue: `url must be at most ${MAX_URL} characters` } : { url: url.href };
};

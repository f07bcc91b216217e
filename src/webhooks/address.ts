import { isIP } from 'node:net';
import { hostOf, NOT_PUBLIC } from '../egress/destinations.js';
import type { Reach } from '../egress/reach.js';
import { MAX_URL } from '../events/types/webhooks.js';
import { readUrl } from '../runtime/read-url.js';

const HTTPS_PORT = 443;
/** Lower ports belong to other services. */
const FIRST_FREE_PORT = 1_024;

/** A scheme's own port is left out of a `URL`. */
const isPort = ({ port }: URL): boolean =>
  port === '' || Number(port) === HTTPS_PORT || Number(port) >= FIRST_FREE_PORT;

/**
 * The address of an endpoint, as it is called: without a fragment, its host normalised.
 * @returns `issue` says what is wrong with the URL, without revealing anything about the host's network
 */
export const readAddress = (
  text: unknown,
  reach: Reach,
): { readonly url: string; readonly issue?: undefined } | { readonly url?: undefined; readonly issue: string } => {
  if (typeof text !== 'string' || text === '') return { issue: 'url is required' };
  // oxlint-disable-next-line no-control-regex
  const url = text.length > MAX_URL || /[\s\0-\x1f\x7f\\]/.test(text) ? undefined : readUrl(text);
  if (url === undefined)
    return { issue: `url must be a URL of at most ${MAX_URL} characters, such as https://example.com/webhooks` };
  const host = hostOf(url);
  const isHttp = url.protocol === 'http:' && reach.isWidened && (isIP(host) === 0 || reach.isAllowed(host));
  if (url.protocol !== 'https:' && !isHttp) return { issue: 'url must begin with https://' };
  if (url.username !== '' || url.password !== '') return { issue: 'url must not contain a user or password' };
  if (!isPort(url)) return { issue: `url must have port ${HTTPS_PORT}, or a port of ${FIRST_FREE_PORT} or above` };
  if (!reach.mayInclude(host)) return { issue: `url: ${NOT_PUBLIC}` };
  url.hash = '';
  return url.href.length > MAX_URL ? { issue: `url must be at most ${MAX_URL} characters` } : { url: url.href };
};

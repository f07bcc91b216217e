import { BlockList, isIP } from 'node:net';
import { isInternalHost } from '../assets/internal-host.js';
import { simplestAddress } from '../assets/ip-address.js';
import { isReachableAddress } from '../assets/reachable-address.js';
import { MAX_URL } from '../events/types/webhooks.js';
import { readUrl } from '../runtime/read-url.js';

const HTTPS_PORT = 443;
/** Below are the ports of other services. */
const FIRST_FREE_PORT = 1_024;

/** All that is ever said of a host that may not be reached. */
export const NOT_PUBLIC = 'not a public address';

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4');

/** Which addresses webhooks may reach. */
export class Reach {
  /** Whether the operator has allowed any network. */
  readonly isWidened: boolean;
  private readonly networks = new BlockList();

  /** @param allow valid addresses and networks: `WEBHOOK_ALLOW` */
  constructor(allow: readonly string[]) {
    this.isWidened = allow.length > 0;
    for (const network of allow) {
      const [address = '', prefix] = network.split('/');
      if (prefix === undefined) this.networks.addAddress(address, familyOf(address));
      else this.networks.addSubnet(address, Number(prefix), familyOf(address));
    }
  }

  /** Whether the operator has allowed this IP address, public or not; then `http` may be spoken there too. */
  isAllowed(address: string): boolean {
    const simplest = simplestAddress(address);
    return simplest !== undefined && this.networks.check(simplest, familyOf(simplest));
  }

  /** Whether a connection to this IP address may be made. */
  includes(address: string): boolean {
    return this.isAllowed(address) || isReachableAddress(address);
  }
}

/** An address without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');

/** A scheme's own port is left out of a `URL`. */
const isPort = ({ port }: URL): boolean =>
  port === '' || Number(port) === HTTPS_PORT || Number(port) >= FIRST_FREE_PORT;

/** A name says nothing yet: if the operator has widened the reach, each attempt decides by the addresses it has. */
const mayBe = (host: string, reach: Reach): boolean => {
  if (isIP(host) !== 0) return reach.includes(host);
  return reach.isWidened || (host.includes('.') && !isInternalHost(host, true));
};

/**
 * The address of an endpoint, as it is called: without a fragment, its host normalised.
 * @returns `issue` says what is wrong with it, and nothing of what is there
 */
export const readAddress = (
  text: unknown,
  reach: Reach,
): { readonly url: string; readonly issue?: undefined } | { readonly url?: undefined; readonly issue: string } => {
  if (typeof text !== 'string' || text === '') return { issue: 'url is required' };
  // oxlint-disable-next-line no-control-regex
  const url = text.length > MAX_URL || /[\s\0-\x1f\x7f\\]/.test(text) ? undefined : readUrl(text);
  if (url === undefined)
    return { issue: `url must be an address of at most ${MAX_URL} characters, such as https://example.com/webhooks` };
  const host = hostOf(url);
  const isHttp = url.protocol === 'http:' && reach.isWidened && (isIP(host) === 0 || reach.isAllowed(host));
  if (url.protocol !== 'https:' && !isHttp) return { issue: 'url must begin with https://' };
  if (url.username !== '' || url.password !== '') return { issue: 'url must not hold a user or password' };
  if (!isPort(url)) return { issue: `url must have port ${HTTPS_PORT}, or one of ${FIRST_FREE_PORT} and above` };
  if (!mayBe(host, reach)) return { issue: `url: ${NOT_PUBLIC}` };
  url.hash = '';
  return url.href.length > MAX_URL ? { issue: `url must be at most ${MAX_URL} characters` } : { url: url.href };
};

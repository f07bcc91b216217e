import { networkInterfaces } from 'node:os';
import { isIP, type LookupFunction } from 'node:net';
import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isPublicAddress, canonicalAddress, isInternalHost } from './assets/ip-address.js';
import { inNetworks } from './runtime/config.js';

/** Reads the interfaces at each call, because the addresses of a laptop, container or VPN change while the process runs. */
const isAddressOfThisHost = (address: string): boolean => {
  const simplest = canonicalAddress(address);
  return Object.values(networkInterfaces()).some((interfaces) =>
    interfaces?.some(({ address: own }) => canonicalAddress(own) === simplest),
  );
};

/** Whether a text is a public IP address that does not belong to this host. */
export const isReachableAddress = (address: string): boolean =>
  isPublicAddress(address) && !isAddressOfThisHost(address);

/**
 * Decides to which addresses this service may connect: addresses on the public Internet, and addresses that the
 * operator allows.
 */
export class NetworkPolicy {
  /** Whether the operator has allowed any network. */
  readonly allowsNetworks: boolean;
  private readonly isAllowed: (address: string) => boolean;

  /** @param allow valid addresses and networks, such as those of `WEBHOOK_ALLOWED_NETWORKS` */
  constructor(allow: readonly string[]) {
    this.allowsNetworks = allow.length > 0;
    this.isAllowed = inNetworks(allow);
  }

  /** Whether the operator has allowed this IP address, public or not. */
  isAllowedByOperator(address: string): boolean {
    const simplest = canonicalAddress(address);
    return simplest !== undefined && this.isAllowed(simplest);
  }

  /** Whether a connection to this IP address may be made. */
  permits(address: string): boolean {
    return this.isAllowedByOperator(address) || isReachableAddress(address);
  }

  /**
   * Checks a host before its name is looked up: returns false if connections to the host are denied whatever the name
   * resolves to. If the operator has allowed a network, any name may resolve to an address in that network, so every
   * name passes, and its addresses are checked after the lookup.
   * @param host an IP address without brackets, or a name
   */
  permitsHost(host: string): boolean {
    if (isIP(host) !== 0) return this.permits(host);
    return this.allowsNetworks || (host.includes('.') && !isInternalHost(host, true));
  }
}

/** The timeout for the lookup of a host name. */
const LOOKUP_TIMEOUT_MS = 5_000;
/** The timeout for each query to a name server. */
const DNS_QUERY_TIMEOUT_MS = 2_000;

/**
 * The message for every host or address that is not permitted, so that clients do not learn why it is denied or to
 * which address a name resolves.
 */
export const NOT_PUBLIC = 'not a public address';

/**
 * The destination must not be connected to. The message reveals nothing about the network in which this service runs.
 */
export class AddressDenied extends Error {}

/** Resolves the addresses of a host name. Tests pass a function of their own. */
export type LookUp = (name: string) => Promise<readonly string[]>;

const resolver = new Resolver({ timeout: DNS_QUERY_TIMEOUT_MS, tries: 2 });

/**
 * Queries name servers directly instead of calling the resolver of the operating system, which blocks a thread until a
 * name server responds. All lookups of a process share four threads.
 */
const lookUpPublic: LookUp = async (name) => {
  const results = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return results.flatMap((result) => (result.status === 'fulfilled' ? result.value : []));
};

/**
 * Queries name servers, and falls back to the resolver of the operating system, which knows private names that no name
 * server has.
 */
const lookUpPrivate: LookUp = async (name) => {
  const found = await lookUpPublic(name);
  return found.length > 0 ? found : (await lookup(name, { all: true })).map(({ address }) => address);
};

/** Returns the host of a URL, without the brackets of an IPv6 address and without the trailing dot of a name. */
export const hostOf = ({ hostname }: URL): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');

/**
 * Returns a lookup function that returns only these addresses, so that a connection goes to an address that was
 * checked.
 */
export const fixedLookup =
  (addresses: readonly string[]): LookupFunction =>
  (_name, { all }, callback) => {
    const found: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
    if (all === true) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };

/** Resolves and checks the destinations of connections to URLs that organizations choose. */
export class Destinations {
  constructor(
    readonly policy: NetworkPolicy,
    private readonly lookUp: LookUp = policy.allowsNetworks ? lookUpPrivate : lookUpPublic,
  ) {}

  /**
   * Looks up the addresses that a connection to this URL may use.
   * @param stop cancels the lookup
   * @throws AddressDenied if the policy does not permit the host or one of its addresses, or if the lookup fails, finds
   *   nothing or takes too long
   * @throws the reason of `stop` if it aborts
   */
  async addressesOf(url: URL, stop?: AbortSignal): Promise<readonly string[]> {
    const host = hostOf(url);
    if (!this.policy.permitsHost(host)) throw new AddressDenied(NOT_PUBLIC);
    if (isIP(host) !== 0) return [host];
    const addresses = await this.find(host, stop);
    if (!addresses.every((address) => this.policy.permits(address))) throw new AddressDenied(NOT_PUBLIC);
    return addresses;
  }

  private async find(name: string, stop?: AbortSignal): Promise<readonly string[]> {
    stop?.throwIfAborted();
    let giveUp = (_reason: unknown): void => {};
    const givenUp = new Promise<never>((_, reject) => (giveUp = reject));
    const onStop = (): void => giveUp(stop!.reason);
    const timer = setTimeout(
      () => giveUp(new AddressDenied('the lookup of the host name took too long')),
      LOOKUP_TIMEOUT_MS,
    );
    stop?.addEventListener('abort', onStop);
    try {
      const found = await Promise.race([this.lookUp(name), givenUp]);
      if (found.length > 0) return found;
    } catch (error) {
      stop?.throwIfAborted();
      if (error instanceof AddressDenied) throw error;
    } finally {
      clearTimeout(timer);
      stop?.removeEventListener('abort', onStop);
    }
    throw new AddressDenied('the host name does not resolve');
  }
}

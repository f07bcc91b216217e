import type { LookupAddress } from 'node:dns';
import { lookup, Resolver } from 'node:dns/promises';
import { isIP, type LookupFunction } from 'node:net';
import type { Reach } from './reach.js';

/** How long the look-up of a name may take, and each question to a name server. ms */
const LOOK_UP_MS = 5_000;
const QUESTION_MS = 2_000;

/** The only reason that clients see for a refused host. */
export const NOT_PUBLIC = 'not a public address';

/** A destination that may not be connected to. The message says nothing of the network of this host. */
export class AddressRefused extends Error {}

/** The addresses of a name. Replaced in tests. */
export type LookUp = (name: string) => Promise<readonly string[]>;

const resolver = new Resolver({ timeout: QUESTION_MS, tries: 2 });

/**
 * Asks name servers directly: the operating system's way keeps a thread for as long as a name server takes, and all
 * look-ups of a process share four.
 */
const lookUpPublic: LookUp = async (name) => {
  const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
};

/** Then the operating system's way, which knows the names of a private network that no name server has. */
const lookUpPrivate: LookUp = async (name) => {
  const found = await lookUpPublic(name);
  return found.length > 0 ? found : (await lookup(name, { all: true })).map(({ address }) => address);
};

/** The host of a URL, without the brackets of an IPv6 address and the last dot of a name. */
export const hostOf = ({ hostname }: URL): string =>
  hostname.startsWith('[') ? hostname.slice(1, -1) : hostname.replace(/\.$/, '');

/** A look-up that knows these addresses only, so that a connection goes to an address that was checked. */
export const knowing =
  (addresses: readonly string[]): LookupFunction =>
  (_name, { all }, callback) => {
    const found: LookupAddress[] = addresses.map((address) => ({ address, family: isIP(address) }));
    if (all === true) callback(null, found);
    else callback(null, found[0]!.address, found[0]!.family);
  };

/** Where connections may go that others than the operator ask for. */
export class Destinations {
  constructor(
    readonly reach: Reach,
    private readonly lookUp: LookUp = reach.isWidened ? lookUpPrivate : lookUpPublic,
  ) {}

  /**
   * The addresses that a connection to this URL may use, looked up now.
   * @param stop gives the look-up up
   * @throws AddressRefused unless every address it has is public, or allowed
   * @throws the reason of `stop`
   */
  async addressesOf(url: URL, stop?: AbortSignal): Promise<readonly string[]> {
    const host = hostOf(url);
    if (!this.reach.mayInclude(host)) throw new AddressRefused(NOT_PUBLIC);
    if (isIP(host) !== 0) return [host];
    const addresses = await this.find(host, stop);
    if (!addresses.every((address) => this.reach.includes(address))) throw new AddressRefused(NOT_PUBLIC);
    return addresses;
  }

  private async find(name: string, stop?: AbortSignal): Promise<readonly string[]> {
    stop?.throwIfAborted();
    let giveUp = (_reason: unknown): void => {};
    const givenUp = new Promise<never>((_, reject) => (giveUp = reject));
    const onStop = (): void => giveUp(stop!.reason);
    const timer = setTimeout(
      () => giveUp(new AddressRefused('the look-up of the host name took too long')),
      LOOK_UP_MS,
    );
    stop?.addEventListener('abort', onStop);
    try {
      const found = await Promise.race([this.lookUp(name), givenUp]);
      if (found.length > 0) return found;
    } catch (error) {
      stop?.throwIfAborted();
      if (error instanceof AddressRefused) throw error;
    } finally {
      clearTimeout(timer);
      stop?.removeEventListener('abort', onStop);
    }
    throw new AddressRefused('the host name does not resolve');
  }
}

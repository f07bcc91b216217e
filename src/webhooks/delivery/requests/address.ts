import { lookup, Resolver } from 'node:dns/promises';
import { isIP } from 'node:net';
import { hostOf, NOT_PUBLIC, type Reach } from '../../address.js';

/** How long the look-up of a name may take, and each question to a name server. ms */
const LOOK_UP_MS = 5_000;
const QUESTION_MS = 2_000;

/** An endpoint that may not be connected to. The message is for its organization. */
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

/** Where deliveries may go. */
export class Destinations {
  constructor(
    private readonly reach: Reach,
    private readonly lookUp: LookUp = reach.isWidened ? lookUpPrivate : lookUpPublic,
  ) {}

  /**
   * The addresses that a connection to this URL may use, looked up now.
   * @throws AddressRefused unless every address it has is public, or allowed
   */
  async addressesOf(url: URL): Promise<readonly string[]> {
    const host = hostOf(url);
    const addresses = isIP(host) === 0 ? await this.find(host) : [host];
    for (const address of addresses) {
      if (!this.reach.includes(address)) throw new AddressRefused(NOT_PUBLIC);
      if (url.protocol !== 'https:' && !this.reach.isAllowed(address)) throw new AddressRefused('https is required');
    }
    return addresses;
  }

  private async find(name: string): Promise<readonly string[]> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<readonly string[]>((_, reject) => {
      timer = setTimeout(() => reject(new AddressRefused('the look-up of its name took too long')), LOOK_UP_MS);
    });
    try {
      const found = await Promise.race([this.lookUp(name), late]);
      if (found.length > 0) return found;
    } catch (error) {
      if (error instanceof AddressRefused) throw error;
    } finally {
      clearTimeout(timer);
    }
    throw new AddressRefused('its name has no address');
  }
}

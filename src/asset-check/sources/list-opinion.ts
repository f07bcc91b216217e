import type { Reading } from '../../assets/read-content.js';
import { FAILED, NOT_FOUND, type Opinion, UNSUPPORTED } from '../opinion.js';
import { ALLOWED, BLOCKED } from './entry-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type Format, type ListContent, namesAddresses } from './list-format.js';
import type { SuffixHashes } from './suffix-hashes.js';

/** The text whose hashes a list is asked for: the host or the account. */
export const askedText = (reading: Reading): string => reading.account ?? reading.host ?? '';

const statusOf = (flags: number): 'ALLOWED' | 'BLOCKED' => (flags & ALLOWED ? 'ALLOWED' : 'BLOCKED');

/**
 * What a list says.
 * @param content undefined where the list was never read
 * @param hashes of `askedText(reading)`
 */
export const askList = (
  content: ListContent | undefined,
  format: Format,
  reading: Reading,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion => {
  const { account, host } = reading;
  if (account === undefined ? host === undefined : !namesAddresses(format)) return UNSUPPORTED;
  if (content === undefined) return FAILED;
  if (account !== undefined) {
    const flags = content.table.find(account, 0, hashes.hashes[0]!);
    return flags === 0 ? NOT_FOUND : { status: statusOf(flags), match: account };
  }
  const asked = new AskedHost(host!, content, hashes, suffixes);
  if (reading.hostCarriesOthers) return asked.ofCarrier();
  return format === 'metamask' ? asked.byDetector() : asked.byNearest();
};

/** One host and one list. */
class AskedHost {
  /** A listed suffix under which anybody can host. */
  private hosting: string | undefined;
  private boundary = -1;

  constructor(
    private readonly host: string,
    private readonly content: ListContent,
    private readonly hashes: SuffixHashes,
    private readonly suffixes: HostingSuffixes,
  ) {}

  /** An exact entry beats one above it, a nearer one a farther one, ALLOWED beats BLOCKED at the same place. */
  byNearest(): Opinion {
    return this.find(ALLOWED | BLOCKED) ?? this.notFound();
  }

  /** As eth-phishing-detect decides: what is allowed with everything under it, then what is blocked, then look-alikes. */
  byDetector(): Opinion {
    const listed = this.find(ALLOWED) ?? this.find(BLOCKED);
    if (listed !== undefined) return listed;
    const imitated = this.content.fuzzy?.find(this.host);
    return imitated === undefined ? this.notFound() : { status: 'BLOCKED', match: imitated, isImitation: true };
  }

  /** Of a page or profile: a list of hosts says nothing about it, not even where its host is listed. */
  ofCarrier(): Opinion {
    for (let index = this.hashes.count - 1; index >= 0; index -= 1)
      if (this.flagsAt(index) !== 0) return this.hosted(this.suffixAt(index));
    return UNSUPPORTED;
  }

  private find(wanted: number): Opinion | undefined {
    const { count } = this.hashes;
    const exact = this.flagsAt(count - 1) & wanted;
    if (exact !== 0) return { status: statusOf(exact), match: this.host };
    for (let index = count - 2; index >= 0; index -= 1) {
      const flags = this.flagsAt(index) & wanted;
      if (flags === 0) continue;
      const match = this.suffixAt(index);
      if (match.length <= this.boundaryLength()) {
        this.hosting ??= match;
        return undefined;
      }
      return { status: statusOf(flags), reason: 'parent-domain', match };
    }
    return undefined;
  }

  private notFound(): Opinion {
    return this.hosting === undefined ? NOT_FOUND : this.hosted(this.hosting);
  }

  private hosted(match: string): Opinion {
    return { status: 'UNKNOWN', reason: 'hosting-domain', match };
  }

  private flagsAt(index: number): number {
    return this.content.table.find(this.host, this.hashes.starts[index]!, this.hashes.hashes[index]!);
  }

  private suffixAt(index: number): string {
    return this.host.slice(this.hashes.starts[index]);
  }

  /** Above this length anybody can host, or registries sell names. Asked for rarely: only where something is listed. */
  private boundaryLength(): number {
    if (this.boundary === -1) this.boundary = this.suffixes.boundaryOf(this.host).suffix.length;
    return this.boundary;
  }
}

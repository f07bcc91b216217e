import type { Source } from '../../asset-check/sources/sources.js';
import { PROXY_DOMAINS } from '../../assets/carriers/carrier-table.js';
import { hostsMailboxes } from '../../assets/email.js';
import { CooperativeYield } from '../../flow/time.js';
import { formOf, type Half, isOfContent, rangeExpression } from '../expressions.js';
import type { Groups } from './groups.js';
import type { Imitations } from './known-hosts.js';
import { ALLOWED, ASKED, BLOCKED, type Listed, PAGES, PATTERN, READ_BY_SERVICE, UNREAD_PAGES } from './listed.js';
import { PROBE, Questions } from './questions.js';
import type { SuffixIndex } from './suffixes.js';

export type Emit = (half: Half, expression: string, group: number) => void;
/** What a client says of a host: blocked, not blocked, or that the service must be asked. */
type Verdict = 'BLOCKED' | 'NOT_BLOCKED' | 'ASK';

const isOfProxy = (host: string): boolean =>
  PROXY_DOMAINS.some((domain) => host.endsWith(domain) && (host === domain || host.at(-domain.length - 1) === '.'));

/** Blocks of IPv4 addresses that the check does not look up, because they are internal. */
const INTERNAL = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['224.0.0.0', 4],
  ['255.255.255.255', 32],
] as const;

/** Maximum number of addresses of a range that are tried. */
const MAX_PROBES = 64;

/** What decides about the hosts below a known host, if no known host is between. */
interface Region {
  readonly below: Verdict;
  readonly hasPages: boolean;
  readonly isPattern: boolean;
}
const NO_REGION: Region = { below: 'NOT_BLOCKED', hasPages: false, isPattern: false };
const PLAIN_REGION: Region = { below: 'BLOCKED', hasPages: false, isPattern: false };

/** Emits the expressions of the sources' verdicts, by asking the sources at and below each known host. */
export class ListBuild {
  private readonly questions: Questions;
  /** The regions of the known hosts that are not plainly blocked. */
  private readonly regions = new Map<string, Region>();
  private readonly cooperativeYield = new CooperativeYield();
  private group = 0;

  constructor(
    sources: readonly Source[],
    private readonly listed: Listed,
    private readonly imitations: Imitations,
    private readonly suffixes: SuffixIndex,
    private readonly groups: Groups,
    private readonly emitTo: Emit,
  ) {
    this.questions = new Questions(sources);
  }

  /** Emits the expressions of all that is listed. Lets other work run in between. */
  async run(): Promise<void> {
    for (const [host, flags] of this.listed.hosts) {
      if ((flags & ASKED) === 0) this.emitHost(host, flags);
      if (this.cooperativeYield.isDue()) await this.cooperativeYield.yieldNow();
    }
    for (const page of this.listed.pages) {
      this.group = this.groups.ofHost(page.slice(0, page.indexOf('/')));
      this.emitPage(page);
      if (this.cooperativeYield.isDue()) await this.cooperativeYield.yieldNow();
    }
    await this.emitAddresses();
    for (const key of this.listed.keys) {
      this.group = this.groups.ofKey(key);
      this.emitKey(key);
      if (this.cooperativeYield.isDue()) await this.cooperativeYield.yieldNow();
    }
  }

  /** Emits what the lists say of any sources. */
  emitFixed(isWanted: (group: number) => boolean): void {
    const ask = (host: string, expression: string): void => {
      this.group = this.groups.ofHost(host);
      if (isWanted(this.group)) this.emit('ask', expression);
    };
    for (const domain of PROXY_DOMAINS) ask(domain, `${domain}/`);
    for (const host of READ_BY_SERVICE) ask(host, `${host}/*`);
  }

  private emit(half: Half, expression: string): void {
    this.emitTo(half, expression, this.group);
  }

  /** Returns the region of the nearest known host above, which is asked before those below. */
  private regionAbove(host: string): Region {
    for (let at = host.indexOf('.') + 1; at > 0; at = host.indexOf('.', at) + 1) {
      const above = host.slice(at);
      const flags = this.listed.hosts.get(above);
      if (flags === undefined) continue;
      if ((flags & ASKED) === 0) this.emitHost(above, flags);
      if (!isOfProxy(above)) return this.regions.get(above) ?? PLAIN_REGION;
    }
    return NO_REGION;
  }

  private emitHost(host: string, flags: number): void {
    this.listed.hosts.set(host, flags | ASKED);
    if (isOfProxy(host)) return;
    const above = this.regionAbove(host);
    // Set again, because hosts above that were asked first have groups of their own.
    this.group = this.groups.ofHost(host);
    if (flags === BLOCKED && above === NO_REGION && !this.suffixes.mayBe(host) && !hostsMailboxes(host))
      return this.emit('list', `${host}/`);
    const isPattern = above.isPattern || (flags & PATTERN) !== 0;
    const found = this.verdictBelow(host);
    const below = isPattern && found === 'BLOCKED' ? 'ASK' : found;
    const hasPages = above.hasPages || (flags & PAGES) !== 0;
    this.regions.set(host, { below, hasPages, isPattern });
    // Below an allowed host, an imitation may be allowed too.
    const isSaid = below !== above.below || (flags & ALLOWED) !== 0;
    if (isSaid) this.emitVerdict(`${host}/`, below);
    const inherited = isSaid ? below : above.below;
    const at = isOfContent(host) ? inherited : this.verdictAt(host);
    const isImitation = !isSaid && this.imitations.has(formOf(host));
    const isExact = at !== inherited || (isImitation && at === 'NOT_BLOCKED');
    if (isExact) this.emitVerdict(`=${host}/`, at);
    const mailbox = this.verdictOfMailboxes(host);
    if (mailbox !== (isExact ? at : inherited)) this.emitVerdict(`@${host}/`, mailbox);
    // Of hosts below that match a pattern, the pages are allowed too.
    const areUnread = above.hasPages || (flags & UNREAD_PAGES) !== 0 || (isPattern && hasPages);
    if (areUnread) this.emit('ask', `${host}/*`);
  }

  /** What is below a host that names content is read by the service; only its mailboxes are not. */
  private verdictBelow(host: string): Verdict {
    const below = `${PROBE}.${host}`;
    return isOfContent(below) ? this.verdictOfMailboxes(below) : this.verdictAt(below);
  }

  private verdictOfMailboxes(host: string): Verdict {
    return this.questions.isMailboxBlocked(host) ? 'BLOCKED' : 'NOT_BLOCKED';
  }

  private verdictAt(host: string, rest?: string): Verdict {
    return this.questions.isHostBlocked(host, rest) ? 'BLOCKED' : 'NOT_BLOCKED';
  }

  private emitVerdict(expression: string, verdict: Verdict): void {
    if (verdict === 'ASK') this.emit('ask', expression);
    else this.emit('list', verdict === 'BLOCKED' ? expression : `!${expression}`);
  }

  private emitPage(page: string): void {
    const slash = page.indexOf('/');
    const [host, path] = [page.slice(0, slash), page.slice(slash)];
    if (isOfProxy(host)) return;
    const hasBelow = !/\.\d+$/.test(host) && !isOfContent(`${PROBE}.${host}`);
    const [belowAt, belowBelow] = hasBelow
      ? [this.verdictAt(`${PROBE}.${host}`, path), this.verdictAt(`${PROBE}.${host}`, `${path}/${PROBE}`)]
      : [undefined, undefined];
    const [atAt, atBelow] = isOfContent(host)
      ? [belowAt, belowBelow]
      : [this.verdictAt(host, path), this.verdictAt(host, `${path}/${PROBE}`)];
    if (atAt === undefined || atBelow === undefined) return;
    // A page on an imitation may be blocked although it is not blocked on other hosts below.
    const isUnblockedBelow = belowAt === 'NOT_BLOCKED' || belowBelow === 'NOT_BLOCKED';
    if (isUnblockedBelow && this.imitations.mayBeBelow(host)) this.emit('ask', `${host}/*`);
    if (new Set([atAt, atBelow, belowAt ?? atAt, belowBelow ?? atAt]).size === 1) return this.emitVerdict(page, atAt);
    this.emitVerdict(`=${page}$`, atAt);
    this.emitVerdict(`=${page}/`, atBelow);
    if (belowAt === undefined || belowBelow === undefined) return;
    this.emitVerdict(`*${page}$`, belowAt);
    this.emitVerdict(`*${page}/`, belowBelow);
  }

  /** Emits ranges of addresses, widest first, and the addresses in none or with another verdict. */
  private async emitAddresses(): Promise<void> {
    const { ranges, addresses, unreadAddresses } = this.listed;
    const firstBytes = new Set(Array.from(ranges, (range) => range.slice(range.indexOf('/') + 1, range.indexOf('.'))));
    for (const [address, bits] of INTERNAL)
      if (firstBytes.has(address.slice(0, address.indexOf('.')))) ranges.add(rangeExpression(address, bits));
    for (const address of unreadAddresses) {
      this.group = this.groups.ofHost(address);
      this.emit('ask', `${address}/*`);
    }
    for (const range of ranges) {
      this.group = this.groups.ofHost(range.slice(range.indexOf('/') + 1));
      const probe = this.probeIn(range);
      this.emitVerdict(range, probe === undefined ? 'ASK' : this.verdictAt(probe));
      if (this.cooperativeYield.isDue()) await this.cooperativeYield.yieldNow();
    }
    for (const address of addresses) {
      this.group = this.groups.ofHost(address);
      this.emitVerdict(`${address}/`, this.verdictAt(address));
      if (this.cooperativeYield.isDue()) await this.cooperativeYield.yieldNow();
    }
  }

  /** Returns an address in a range that is in no narrower range and has no entry; undefined if none was found. */
  private probeIn(range: string): string | undefined {
    const { ranges, addresses } = this.listed;
    const [bits, first] = [Number(range.slice(1, range.indexOf('/'))), range.slice(range.indexOf('/') + 1)];
    const start = first.split('.').reduce((sum, byte) => sum * 256 + Number(byte), 0);
    const size = 2 ** (32 - bits);
    for (let attempt = 0; attempt < Math.min(size, MAX_PROBES); attempt += 1) {
      const value = start + ((attempt * 2_654_435_761) % size);
      const address = [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join('.');
      const isInNarrower = Array.from({ length: 32 - bits }, (_, more) =>
        rangeExpression(address, bits + 1 + more),
      ).some((one) => ranges.has(one));
      if (!isInNarrower && !addresses.has(address)) return address;
    }
    return undefined;
  }

  private emitKey(key: string): void {
    const isBlocked = this.questions.isKeyBlocked(key);
    if (isBlocked === true) this.emit('list', key);
    else if (isBlocked === false && key.startsWith('EMAIL:')) this.emit('list', `!${key}`);
  }
}

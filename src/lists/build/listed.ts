import { ALLOWED as LIST_ALLOWED, BLOCKED as LIST_BLOCKED, EXACTLY } from '../../asset-check/lists/host-table.js';
import { isPageKey, prefixOf } from '../../asset-check/lists/list-entry.js';
import { carrierHosts } from '../../assets/carriers/carrier-forms.js';
import { publishingHosts } from '../../assets/pages/page.js';
import { profileDomains, profileHost } from '../../assets/profiles/profile.js';
import { isPlainPath, rangeExpression, withParents } from '../expressions.js';
import { type Groups, IS_ADDRESS } from './groups.js';

/** What is known of a host: flags. */
export const BLOCKED = 1;
/** What the sources say is not only that the host is blocked with everything below. */
export const SPECIAL = 2;
export const ALLOWED = 4;
/** A page on the host has an entry. */
export const PAGES = 8;
/** A page on the host has an entry that a client cannot look up. */
export const UNREAD_PAGES = 16;
/** Hosts below may match a pattern, and are then allowed without an entry. */
export const PATTERN = 32;
/** The host has been asked about. */
export const ASKED = 64;

/** The flags of an entry of a list that blocks a host with everything below, and nothing else. */
const PLAIN = LIST_BLOCKED;
const ANY_ALLOWED = LIST_ALLOWED | (LIST_ALLOWED << 3);
/** A host of at least two labels, or an IPv4 address. The keys of accounts have other signs or no dot. */
const IS_HOST = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/;
const URL = 'URL:';
const PAGE = 'PAGE:';

/** The hosts whose pages, and those on the hosts below, only the service can read. */
export const READ_BY_SERVICE: ReadonlySet<string> = new Set([
  ...publishingHosts(),
  ...carrierHosts(),
  ...profileDomains(),
]);
/** Whether only the service can read the pages of a host. */
export const isReadByService = (host: string): boolean => withParents(host).some((one) => READ_BY_SERVICE.has(one));

/** Returns the hosts that belong to a profile. */
const hostsOfProfile = (key: string): string[] => {
  const name = key.slice(key.indexOf(':') + 1).split('.', 1)[0]!;
  return Array.from(profileDomains(), (domain) => `${name}.${domain}`).filter((host) => {
    const owner = profileHost(host);
    return owner !== undefined && `${owner.type}:${owner.name}` === key;
  });
};

/** Returns the host of a page that a client may look up; undefined if only the service reads the pages of the host. */
const hostOfPage = (page: string): string | undefined => {
  const host = page.split('/', 1)[0]!;
  return host.length === page.length || !IS_HOST.test(host) || isReadByService(host) ? undefined : host;
};

/** How many entries are read between two looks at the clock, some 0.2 ms. */
export const ENTRIES_PER_LOOK = 128;

/** What an own status or an entry of a list concerns. */
export interface Concerned {
  readonly hosts: readonly string[];
  /** The key, unless it is that of a host or a page. */
  readonly key?: string;
}

export const concernedBy = (key: string): Concerned => {
  if (key.startsWith(URL)) return { hosts: [key.slice(URL.length)].filter((host) => IS_HOST.test(host)) };
  if (!key.startsWith(PAGE)) return { hosts: hostsOfProfile(key), key };
  const host = hostOfPage(key.slice(PAGE.length));
  return { hosts: host === undefined ? [] : [host] };
};

/** The same as `concernedBy`, of an entry as lists store it. */
export const concernedByEntry = (entry: string): Concerned => {
  if (IS_HOST.test(entry)) return { hosts: [entry] };
  if (isPageKey(entry)) return concernedBy(entry);
  const host = entry.startsWith(EXACTLY) ? entry.slice(EXACTLY.length) : entry.split('/', 1)[0]!;
  return IS_HOST.test(host) ? { hosts: [host] } : { hosts: [], key: `ADDRESS:${entry}` };
};

/** What sources have entries of. A repeated entry is one. */
export class Listed {
  /** The flags of each host. */
  readonly hosts = new Map<string, number>();
  /** IPv4 addresses with an entry. */
  readonly addresses = new Set<string>();
  /** IPv4 addresses with entries of pages that a client cannot look up. */
  readonly unreadAddresses = new Set<string>();
  /** IPv4 ranges as `vBITS/ADDRESS`. */
  readonly ranges = new Set<string>();
  /** `HOST/PATH` of the pages that a client can look up. */
  readonly pages = new Set<string>();
  /** The keys of accounts, mailboxes, profiles and IPFS content. */
  readonly keys = new Set<string>();

  /** @param isWanted whether a group is wanted; what belongs to another is ignored; undefined if all are */
  constructor(
    private readonly groups: Groups,
    private readonly isWanted?: (group: number) => boolean,
  ) {}

  /** @param isBlocked as in `StatusTable.keys` */
  addOwn(key: string, isBlocked: boolean): void {
    if (key.startsWith(URL)) this.addHost(key.slice(URL.length), isBlocked ? BLOCKED : SPECIAL | ALLOWED);
    else this.addKey(key);
  }

  /**
   * Adds an entry of a list.
   * @param flags as `entryAt` returns them
   */
  addEntry(key: string, flags: number): void {
    const found = flags === PLAIN ? BLOCKED : SPECIAL | ((flags & ANY_ALLOWED) === 0 ? 0 : ALLOWED);
    if (IS_HOST.test(key)) this.addHost(key, found);
    else if (isPageKey(key)) this.addKey(key);
    else if (prefixOf(key) !== undefined) this.addRange(key);
    else if (key.startsWith(EXACTLY)) this.addHost(key.slice(EXACTLY.length), found | SPECIAL);
    else this.addKey(`ADDRESS:${key}`);
  }

  addHost(host: string, flags: number): void {
    if (!IS_HOST.test(host) || this.isOther(this.isWanted && this.groups.ofHost(host))) return;
    if (IS_ADDRESS.test(host)) this.addresses.add(host);
    else this.hosts.set(host, (this.hosts.get(host) ?? 0) | flags);
  }

  private isOther(group: number | undefined): boolean {
    return group !== undefined && this.isWanted?.(group) === false;
  }

  private addRange(key: string): void {
    const [address = '', bits] = key.split('/');
    if (IS_ADDRESS.test(address) && !this.isOther(this.groups.ofHost(address)))
      this.ranges.add(rangeExpression(address, Number(bits)));
  }

  private addKey(key: string): void {
    if (key.startsWith(PAGE)) return this.addPage(key.slice(PAGE.length));
    if (!this.isOther(this.groups.ofKey(key))) this.keys.add(key);
    for (const host of hostsOfProfile(key)) this.addHost(host, SPECIAL | ALLOWED);
  }

  private addPage(page: string): void {
    const host = hostOfPage(page);
    if (host === undefined || this.isOther(this.groups.ofHost(host))) return;
    const path = page.slice(host.length);
    const isRead = isPlainPath(path);
    if (isRead) this.pages.add(page);
    if (!IS_ADDRESS.test(host)) this.addHost(host, SPECIAL | PAGES | (/[?#]/.test(path) ? UNREAD_PAGES : 0));
    else if (!isRead) this.unreadAddresses.add(host);
  }
}

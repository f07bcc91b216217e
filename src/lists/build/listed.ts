import { ALLOWED as LIST_ALLOWED, BLOCKED as LIST_BLOCKED, EXACTLY } from '../../asset-check/lists/host-table.js';
import { isPageKey, prefixOf } from '../../asset-check/lists/list-entry.js';
import type { ListContent } from '../../asset-check/lists/parse-list.js';
import type { OwnStatuses } from '../../asset-check/own/own-statuses.js';
import type { Source } from '../../asset-check/sources/sources.js';
import { profileDomains, profileHost } from '../../assets/profiles/profile.js';
import { isPlainPath, rangeExpression } from '../expressions.js';

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

/** The flags of an entry of a list that blocks a host with everything below, and nothing else. */
const PLAIN = LIST_BLOCKED;
const HAS_SPELLING = 4;
const ANY_ALLOWED = LIST_ALLOWED | (LIST_ALLOWED << 3);
/** A host of at least two labels, or an IPv4 address. The keys of accounts have other signs or no dot. */
const IS_HOST = /^[a-z0-9_-]+(?:\.[a-z0-9_-]+)+$/;
const IS_ADDRESS = /^\d+(?:\.\d+){3}$/;
const PAGE = 'PAGE:';

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
  /** The names that phishers imitate. */
  readonly imitated = new Set<string>();

  constructor(sources: readonly Source[]) {
    for (const { of } of sources)
      if (of.kind === 'own') this.addOwn(of.statuses);
      else if (of.kind === 'list' && of.list.listed !== undefined) this.addList(of.list.listed);
  }

  private addOwn({ keys }: OwnStatuses): void {
    for (const [key, isBlocked] of keys) {
      const flags = isBlocked ? BLOCKED : SPECIAL | ALLOWED;
      if (key.startsWith('URL:')) this.addHost(key.slice(4), flags);
      else this.addKey(key);
    }
  }

  private addList({ table, fuzzy, exemptions }: ListContent): void {
    for (const [texts, start, end] of table.entries()) {
      const key = Buffer.from(texts.buffer, texts.byteOffset + start, end - start).toString('latin1');
      const flags = texts[start - 1]! & ~HAS_SPELLING;
      const found = flags === PLAIN ? BLOCKED : SPECIAL | ((flags & ANY_ALLOWED) === 0 ? 0 : ALLOWED);
      if (isPageKey(key)) this.addKey(key);
      else if (prefixOf(key) !== undefined) this.addRange(key);
      else if (key.startsWith(EXACTLY)) this.addHost(key.slice(EXACTLY.length), found | SPECIAL);
      else if (IS_HOST.test(key)) this.addHost(key, found);
      else this.keys.add(`ADDRESS:${key}`);
    }
    for (const { end } of exemptions) this.addHost(end.slice(end.indexOf('.') + 1), SPECIAL | PATTERN);
    // With more edits, there are too many names.
    if (fuzzy?.tolerance === 1) for (const name of fuzzy.names) this.imitated.add(name);
  }

  private addHost(host: string, flags: number): void {
    if (IS_ADDRESS.test(host)) this.addresses.add(host);
    else if (IS_HOST.test(host)) this.hosts.set(host, (this.hosts.get(host) ?? 0) | flags);
  }

  private addRange(key: string): void {
    const [address = '', bits] = key.split('/');
    if (IS_ADDRESS.test(address)) this.ranges.add(rangeExpression(address, Number(bits)));
  }

  private addKey(key: string): void {
    if (key.startsWith(PAGE)) return this.addPage(key.slice(PAGE.length));
    this.keys.add(key);
    // The hosts of a profile.
    const name = key.slice(key.indexOf(':') + 1).split('.', 1)[0]!;
    for (const domain of profileDomains()) {
      const host = `${name}.${domain}`;
      const owner = profileHost(host);
      if (owner !== undefined && `${owner.type}:${owner.name}` === key) this.addHost(host, SPECIAL | ALLOWED);
    }
  }

  private addPage(page: string): void {
    const slash = page.indexOf('/');
    const [host, path] = [page.slice(0, slash), page.slice(slash)];
    if (slash === -1 || !IS_HOST.test(host)) return;
    const isRead = isPlainPath(path);
    if (isRead) this.pages.add(page);
    const flags = SPECIAL | PAGES | (/[?#]/.test(path) ? UNREAD_PAGES : 0);
    if (!IS_ADDRESS.test(host)) this.addHost(host, flags);
    else if (!isRead) this.unreadAddresses.add(host);
  }
}

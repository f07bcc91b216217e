import type { ParsedContent } from '../../assets/asset.js';
import { type ParentPage, parentPages } from '../../assets/location-asset.js';
import type { SourceResult } from '../verdict.js';
import type { Guards } from './guards.js';
import {
  ANY_QUERY,
  MAX_ENTRY_LENGTH,
  flagsForHost,
  flagsForSubdomains,
  statusOf,
  type SuffixHashes,
} from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import type { Format, ListContent } from './parse-list.js';

const PAGE = 'PAGE:';
const URL_KEY = 'URL:';
const IPFS = 'IPFS:';
/** Maximum number of hosts under which a page is looked up: its own host and parent domains, as in Safe Browsing. */
const MAX_PAGE_HOSTS = 5;

/** One lookup of an asset in a list. */
export interface ListLookup {
  readonly parsed: ParsedContent;
  /** The host of the asset; empty if it has none. */
  readonly host: string;
  readonly content: ListContent;
  readonly format: Format;
  /** The hashes of the host. */
  readonly hashes: SuffixHashes;
  readonly suffixes: HostingSuffixes;
  readonly guards: Guards;
}

const guardOfPage = ({ host, hashes, suffixes, guards }: ListLookup): string | undefined =>
  host === '' ? undefined : guards.find(host, hashes, suffixes.boundaryOf(host).suffix.length + 1);

/**
 * Looks up the key of a page, a profile or IPFS content. A guard overrules an entry that leaves out the
 * parameters of its link.
 */
const findKey = (key: string, lookup: ListLookup, subdomainsOnly = false): SourceResult | undefined => {
  const found = key.length > MAX_ENTRY_LENGTH ? undefined : lookup.content.table.entryOf(key);
  if (found === undefined) return undefined;
  const flags = subdomainsOnly ? flagsForSubdomains(found.flags) : flagsForHost(found.flags);
  if (flags === 0) return undefined;
  const match = found.spelling === key ? key.slice(key.indexOf(':') + 1) : found.spelling;
  const status = statusOf(flags);
  const guardedBy = status === 'BLOCKED' && (found.flags & ANY_QUERY) !== 0 ? guardOfPage(lookup) : undefined;
  return guardedBy === undefined ? { status, match } : { status: 'UNKNOWN', reason: 'not-found', match, guardedBy };
};

/**
 * Looks up IPFS content by its CID, regardless of the gateway that serves the content, and the keys whose entries can
 * only block.
 */
export const matchIpfsContent = (lookup: ListLookup): SourceResult | undefined => {
  const { keys, blockingKeys = [] } = lookup.parsed;
  let overruled: SourceResult | undefined;
  for (const key of blockingKeys) {
    const found = findKey(key, lookup);
    if (found?.guardedBy !== undefined) overruled ??= found;
    if (found?.status === 'BLOCKED') return found;
  }
  const key = keys.find((candidate) => candidate.startsWith(IPFS));
  return (key === undefined ? undefined : findKey(key, lookup)) ?? overruled;
};

/** Looks up a page or profile, then its parent pages. */
export const matchPage = (lookup: ListLookup): SourceResult | undefined => {
  const { parsed, host, format, hashes, guards } = lookup;
  let overruled: SourceResult | undefined;
  // If the first key is that of a host, the host belongs to one profile, and an entry for the profile blocks the host.
  const isHost = parsed.keys[0]!.startsWith(URL_KEY);
  for (const key of parsed.keys) {
    const exact = key.startsWith(URL_KEY) ? undefined : findKey(key, lookup);
    if (exact?.guardedBy !== undefined) overruled ??= exact;
    else if (exact !== undefined) return isHost ? guards.overrule(exact, host, hashes, host.length) : exact;
  }
  const above = parentPages(parsed);
  for (const { key, matchedLength } of above) {
    const found = findKey(key, lookup);
    if (found?.guardedBy !== undefined) overruled ??= found;
    if (found?.status === 'BLOCKED') return { ...found, reason: 'parent-domain', matchedLength };
  }
  // MetaMask's detector compares whole hosts. Shared hosts do not inherit from parent domains.
  if (format === 'metamask' || parsed.isSharedHost || !parsed.isDnsName) return overruled;
  return matchPageOfParentHost(lookup, above) ?? overruled;
};

/** Looks up the path of a page, and its parent pages, under the parent domains of its host. */
const matchPageOfParentHost = (lookup: ListLookup, above: readonly ParentPage[]): SourceResult | undefined => {
  const { parsed, host, hashes, suffixes } = lookup;
  const { count, starts } = hashes;
  const own = parsed.keys[0]!;
  if (!own.startsWith(PAGE) || count < 2) return undefined;
  const pages = [own, ...above.map(({ key }) => key).filter((key) => key.startsWith(PAGE))];
  const { length } = suffixes.boundaryOf(host).suffix;
  for (let index = count - 2; index >= Math.max(0, count - MAX_PAGE_HOSTS); index -= 1) {
    const start = starts[index]!;
    if (host.length - start <= length) return undefined;
    for (const page of pages) {
      const key = PAGE + page.slice(PAGE.length + start);
      const found = findKey(key, lookup, true);
      // Below a page only BLOCKED is inherited. An entry for the page itself covers the page on the hosts below.
      if (found?.status === 'BLOCKED' || (found?.status === 'ALLOWED' && page === own))
        return { ...found, reason: 'parent-domain', matchedLength: key.length - PAGE.length };
    }
  }
  return undefined;
};

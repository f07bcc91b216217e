import { readAccount } from '../../assets/accounts/payment.js';
import { rangeOf, isInternalHost } from '../../assets/ip-address.js';
import { HELD_LINK, holdsUnreadLink } from '../../assets/carriers/held-links.js';
import { scopeOf } from '../../assets/asset-key.js';
import { isNativeIpfs, readIpfs } from '../../assets/ipfs.js';
import { isDnsName, type Location, parseLocation } from '../../assets/location.js';
import { parseContent } from '../../assets/parse-content.js';
import { isPublishingHost } from '../../assets/pages/page.js';
import { profileHost } from '../../assets/profiles/profile.js';
import { dialectOf } from './dialects.js';
import { MAX_ENTRY_LENGTH } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';

/** Why a list entry is rejected. */
export const REJECTIONS = [
  /** The entry is neither a host, an IP address, a page, a profile, IPFS content nor an account. */
  'unreadable',
  'too-long',
  /** The entry is a suffix such as `co.uk`, under which a registry sells names. */
  'public-suffix',
  /** The entry is a host on this machine or on a private network. */
  'private',
  /** The entry is a valid asset, but lists of this format cannot contain assets of its kind. */
  'unsupported',
  /** The entry is a line of a hosts file that maps names to another host instead of blocking them. */
  'redirect',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** The entries of a list that were rejected for one reason. */
export interface RejectedEntries {
  readonly reason: Rejection;
  readonly count: number;
  /** The first rejected entries, as the list spells them. */
  readonly examples: readonly string[];
}

/** Quotes an entry and escapes characters that a terminal or an HTML page would interpret. */
export const quote = (entry: string): string =>
  JSON.stringify(entry).replace(
    /[<>&\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/**
 * Describes the entries rejected for one reason in one line: count, reason, the dialect that they are probably in, and
 * examples.
 */
export const describeRejected = ({ reason, count, examples }: RejectedEntries): string => {
  const dialect = reason === 'unreadable' ? dialectOf(examples) : undefined;
  const seen = dialect === undefined ? '' : `, which look like ${dialect}`;
  return `${count} ${reason}${seen} (${examples.map(quote).join(', ')}${count > examples.length ? ', …' : ''})`;
};

/** The kinds of assets that entries of a list may name in addition to hosts. */
export interface EntryKinds {
  /** Pages, profiles and IPFS content. */
  readonly pages: boolean;
  readonly accounts: boolean;
}

/** A parsed list entry. */
export interface Entry {
  /** The ASCII key to look up: a host, an account, or `TYPE:…` for a page, a profile or IPFS content. */
  readonly key: string;
  /** The entry covers the subdomains of its host, but not the host itself. */
  readonly subdomainsOnly: boolean;
  /** The key leaves out parameters or a route of the page's link. */
  readonly anyQuery?: boolean;
}

/** Maximum length of an entry, which is enough for a scheme, white space and a Unicode name. */
const MAX_TEXT_LENGTH = 1_024;
/**
 * Matches the type before the key of a page, a profile or IPFS content. The keys of hosts and accounts have no
 * upper-case letters before a colon.
 */
const TYPED = /^[A-Z_]+:/;
/** `*.` or `.` before a host, with or without a scheme. */
const SUBDOMAIN_MARK = /^((?:https?:)?\/\/)?(\*?)\.(?=[^.])/i;
/** A final `/*`. An entry covers what is below its host or path anyway. */
const ALL_BELOW = /\/\*{1,2}$/;
/** Any other wildcard in a path. */
const WILDCARD = /^[^?#]*\*/;
/** A cosmetic rule of an ad blocker, which hides or changes an element of a page, or exempts the page from that. */
const HIDES_ELEMENT = /#@?[?$%]{0,2}@?#/;
/** The same for a rule that removes an element from the document. No scheme precedes such a rule. */
const REMOVES_ELEMENT = /\$@?\$/;
/** A range of addresses: a prefix length, or a netmask. */
const RANGE = /^\/(\d{1,3}|\d{1,3}(?:\.\d{1,3}){3})$/;
/** A range may not cover more than a registry gives to one owner. */
const MIN_PREFIX = { v4: 8, v6: 16 };

/** Returns the length of the prefix if a key is that of a range of addresses. */
export const prefixOf = (key: string): number | undefined => {
  const [, prefix] = /^[\d.:a-f]+\/(\d{1,3})$/.exec(key) ?? [];
  return prefix === undefined ? undefined : Number(prefix);
};

export const isPageKey = (key: string): boolean => TYPED.test(key);

/** Parses a list entry. docs/guides/asset-check.md describes each form. */
export const readEntry = (entry: string, suffixes: HostingSuffixes, kinds: EntryKinds): Entry | Rejection => {
  if (entry.length > MAX_TEXT_LENGTH) return 'too-long';
  const text = entry.trim();
  if (!text.includes('.') || isNativeIpfs(text)) {
    const key = accountKey(text) ?? contentKey(text);
    if (key !== undefined) return kinds[key.kind] ? ofKey(key.key) : 'unsupported';
  }
  const [mark = '', scheme = '', star] = SUBDOMAIN_MARK.exec(text) ?? [];
  return readHost(scheme + text.slice(mark.length).replace(ALL_BELOW, '/'), star === '*', suffixes, kinds);
};

type KindOfKey = { readonly key: string; readonly kind: keyof EntryKinds };

const accountKey = (text: string): KindOfKey | undefined => {
  const account = readAccount(text);
  return account && { key: account.key, kind: 'accounts' };
};

const contentKey = (text: string): KindOfKey | undefined => {
  const cid = readIpfs(text);
  return cid === undefined ? undefined : { key: `IPFS:${cid}`, kind: 'pages' };
};

const ofKey = (key: string, subdomainsOnly = false): Entry | Rejection =>
  key.length <= MAX_ENTRY_LENGTH ? { key, subdomainsOnly } : 'too-long';

const readHost = (
  text: string,
  subdomainsOnly: boolean,
  suffixes: HostingSuffixes,
  kinds: EntryKinds,
): Entry | Rejection => {
  const location = parseLocation(text);
  if (location === undefined) return 'unreadable';
  const { host, isName, scheme, rest } = location;
  if (scheme !== '' && scheme !== 'http' && scheme !== 'https') return 'unsupported';
  if (HIDES_ELEMENT.test(rest) || (scheme === '' && REMOVES_ELEMENT.test(rest))) return 'unreadable';
  // A link has no white space: these are columns of a table, or words.
  if (/\s/.test(rest)) return 'unreadable';
  // Text with a user before the host is an e-mail address or a deceptive link.
  if (text.slice(0, text.length - rest.length).includes('@')) return 'unsupported';
  if (isInternalHost(host, isName)) return 'private';
  if (isName && !isDnsName(host)) return 'unreadable';
  if (isName && suffixes.isRegistrySuffix(host)) return 'public-suffix';
  if (isName && !host.includes('.')) return 'unreadable';
  // An IP address has no subdomains.
  if (subdomainsOnly && !isName) return 'unreadable';
  const length = !isName && scheme === '' ? RANGE.exec(rest)?.[1] : undefined;
  if (length !== undefined) {
    const range = rangeOf(host, length);
    if (range === undefined) return 'unreadable';
    return range.prefix < MIN_PREFIX[range.kind] ? 'unsupported' : ofKey(range.key);
  }
  if (/^[/\\]*$/.test(rest)) {
    const owner = kinds.accounts && isName && !subdomainsOnly ? profileHost(host) : undefined;
    return ofKey(owner === undefined ? host : `${owner.type}:${owner.name}`, subdomainsOnly);
  }
  // Formats without pages name hosts, whatever follows them.
  if (!kinds.pages)
    return /^[/\\]*[?#]/.test(rest) && !isPublishingHost(host) && !HELD_LINK.test(rest)
      ? ofKey(host, subdomainsOnly)
      : 'unsupported';
  return readPage(text, location, subdomainsOnly);
};

/**
 * Reads an entry with a path, parameters or a fragment. A link that carries another link stands for the carried link,
 * never for its carrier.
 */
const readPage = (text: string, location: Location, subdomainsOnly: boolean): Entry | Rejection => {
  const { parsed } = parseContent(text);
  // As a literal, a wildcard would match no page. Some links that carry another link are encoded with asterisks.
  if (parsed?.opened === undefined && WILDCARD.test(location.rest)) return 'unreadable';
  if (parsed === undefined) return 'unsupported';
  // On a host where people publish, an entry names its page, whatever links the page is given.
  const isNamed = parsed.isSharedHost && parsed.blockingKeys?.length === 0 && holdsUnreadLink(location);
  if (parsed.isUncertain === true && !isNamed) return 'unsupported';
  // What a page of a log-in opens afterwards is not what the entry names.
  if ((parsed.alternatives ?? []).length > 0 && parsed.opened !== text) return 'unsupported';
  const key = parsed.keys.findLast((candidate) => !candidate.startsWith('URL:'));
  if (key !== undefined) {
    const entry = ofKey(key, subdomainsOnly);
    const anyQuery = key.startsWith('PAGE:') && scopeOf({ type: 'PAGE', content: text }, key) === 'more-links';
    return anyQuery && typeof entry === 'object' ? { ...entry, anyQuery } : entry;
  }
  // On a host where people publish, an entry that names no page would stand for the pages of all.
  if (parsed.opened === undefined && isPublishingHost(location.host)) return 'unsupported';
  return ofKey(parsed.host ?? parsed.name, subdomainsOnly);
};

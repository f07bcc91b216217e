import { readAccount } from '../../assets/accounts/account.js';
import { isInternalHost } from '../../assets/internal-host.js';
import { isNativeIpfs, readIpfs } from '../../assets/ipfs.js';
import { isDnsName, parseLocation, queryOf } from '../../assets/location.js';
import { parseContent } from '../../assets/parse-content.js';
import { profileHost } from '../../assets/profiles/profile.js';
import { MAX_ENTRY_LENGTH } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';

/** Why an entry of a list is not used. */
export const REJECTIONS = [
  /** Neither a host, an IP address, a page, a profile, IPFS content nor an account. */
  'unreadable',
  'too-long',
  /** A suffix such as `co.uk`, under which a registry sells names. */
  'public-suffix',
  /** On the machine itself or on a private network. */
  'private',
  /** Readable, but nothing that an entry of this format, or of any, can mean. */
  'unsupported',
  /** A line of a hosts file that leads to another host instead of blocking. */
  'redirect',
] as const;
export type Rejection = (typeof REJECTIONS)[number];

/** The entries of a list that were rejected for one reason. */
export interface RejectedEntries {
  readonly reason: Rejection;
  readonly count: number;
  /** The first ones, as written. */
  readonly examples: readonly string[];
}

/** An entry as text that neither a terminal nor a page that shows a log takes for anything else. */
const quote = (entry: string): string =>
  JSON.stringify(entry).replace(
    /[<>&\x7f-\x9f]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Says in one line how many entries were rejected for each reason, with the first ones. */
export const describeRejected = ({ reason, count, examples }: RejectedEntries): string =>
  `${count} ${reason} (${examples.map(quote).join(', ')}${count > examples.length ? ', …' : ''})`;

/** What entries may be besides hosts. */
export interface EntryKinds {
  /** Pages, profiles and IPFS content. */
  readonly pages: boolean;
  readonly accounts: boolean;
}

/** A list entry, as it is looked up. */
export interface Entry {
  /** A host or an account; pages, profiles and IPFS content with their type. ASCII. */
  readonly key: string;
  /** The entry covers what is below its host, but not the host itself. */
  readonly isBelow: boolean;
}

/** Room for a scheme, white space and a Unicode name. */
const MAX_TEXT_LENGTH = 1_024;
/** The type of a page, a profile or IPFS content; hosts and accounts have no capital letters before a colon. */
const TYPED = /^[A-Z_]+:/;
/** `*.` or `.` before a host, also after a scheme. */
const BELOW_HOST = /^((?:https?:)?\/\/)?(\*?)\.(?=[^.])/i;
/** A rule of an ad blocker that hides an element of the page. */
const HIDES_ELEMENT = /^#[@?$%]?#/;
const ONE_SEGMENT = /^[/\\]+[^/\\?#]*[/\\]*\?/;

export const isPageKey = (key: string): boolean => TYPED.test(key);

/** Reads a list entry; docs/guides/asset-check.md says what each form means. */
export const readEntry = (entry: string, suffixes: HostingSuffixes, kinds: EntryKinds): Entry | Rejection => {
  if (entry.length > MAX_TEXT_LENGTH) return 'too-long';
  const text = entry.trim();
  if (!text.includes('.') || isNativeIpfs(text)) {
    const key = accountKey(text) ?? contentKey(text);
    if (key !== undefined) return kinds[key.kind] ? ofKey(key.key) : 'unsupported';
  }
  const [mark = '', scheme = '', star] = BELOW_HOST.exec(text) ?? [];
  return readHost(scheme + text.slice(mark.length), star === '*', suffixes, kinds);
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

const ofKey = (key: string, isBelow = false): Entry | Rejection =>
  key.length <= MAX_ENTRY_LENGTH ? { key, isBelow } : 'too-long';

const readHost = (text: string, isBelow: boolean, suffixes: HostingSuffixes, kinds: EntryKinds): Entry | Rejection => {
  const location = parseLocation(text);
  if (location === undefined) return 'unreadable';
  const { host, isName, scheme, rest } = location;
  if (scheme !== '' && scheme !== 'http' && scheme !== 'https') return 'unsupported';
  if (HIDES_ELEMENT.test(rest)) return 'unreadable';
  // A user before a host is the mark of a link that deceives, or of an e-mail address.
  if (text.slice(0, text.length - rest.length).includes('@')) return 'unsupported';
  if (isInternalHost(host, isName)) return 'private';
  if (isName && !isDnsName(host)) return 'unreadable';
  if (isName && suffixes.isRegistrySuffix(host)) return 'public-suffix';
  if (isName && !host.includes('.')) return 'unreadable';
  // Nothing is below an IP address.
  if (isBelow && !isName) return 'unreadable';
  if (/^[/\\]*(?:[?#]|$)/.test(rest)) {
    const owner = kinds.accounts && isName && !isBelow ? profileHost(host) : undefined;
    return ofKey(owner === undefined ? host : `${owner.type}:${owner.name}`, isBelow);
  }
  return kinds.pages ? readPage(text, host, rest, isBelow) : 'unsupported';
};

const readPage = (text: string, host: string, rest: string, isBelow: boolean): Entry | Rejection => {
  const { reading } = parseContent(text);
  // An entry never is about the link that a deep link carries: neither its own host nor that link is blocked.
  if (reading?.host !== host) return 'unsupported';
  const key = reading.keys.findLast((candidate) => !candidate.startsWith('URL:'));
  if (key === undefined) return 'unreadable';
  // Such as `youtube.com/watch?v=ID`: without its query, the path is everybody's.
  if (key.startsWith('PAGE:') && reading.isSharedHost && ONE_SEGMENT.test(rest) && queryOf(rest).size > 0)
    return 'unsupported';
  return ofKey(key, isBelow);
};

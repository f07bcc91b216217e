import { type Account, readAccount } from './accounts/account.js';
import { addressKey, pageKey, readEmail, urlKey } from './asset-key.js';
import { followLinks } from './wrapping-links/follow-links.js';
import { parsePasted } from './text/copied-text.js';
import { isInternalHost, isInternalScheme } from './internal-host.js';
import { gatewayCid, isNativeIpfs, readIpfs } from './ipfs.js';
import { locateLink, locateWeb } from './link.js';
import { isBlank, type Location, parsePlainLocation, pathOf, refang, trimLikeUrlParser } from './location.js';
import { profileName, readReddit } from './profiles/bare-name.js';
import { hostsProfiles, type Profile, profileHost, hasPosts, readProfileLink } from './profiles/profile.js';
import { hostsMailboxes, hostsUserPages } from './publishing-hosts.js';

/** Content parsed as an asset. */
export interface ParsedContent {
  readonly type: string;
  /** The normalized content, such as a host, an account or a profile name. */
  readonly name: string;
  /** The keys under which exactly this asset may be stored, most specific first. */
  readonly keys: readonly string[];
  /** The host on which the asset is. */
  readonly host?: string;
  /** Whether anybody can publish on the host, so that the status of the host does not apply to the asset. */
  readonly isSharedHost: boolean;
  /** Whether the host has parent domains. */
  readonly isDnsName: boolean;
  /** Whether the asset is on the host instead of being the host. Such an asset inherits the status of the host. */
  readonly isOnHost: boolean;
  /** The key of the account without its tag. */
  readonly account?: string;
  /**
   * The key of another account that a payment involves. A status of that account has an effect only if the status is
   * BLOCKED.
   */
  readonly relatedAccount?: string;
  /** The link that a deep link or other wrapping link opens. */
  readonly opened?: string;
  /**
   * The wrapping links of this asset, such as a deep link of a wallet. A status of a wrapping link has an effect only
   * if the status is BLOCKED.
   */
  readonly wrappingLinks?: readonly ParsedContent[];
}

/** An internal address, which is recognized but not checked. */
export interface InternalAddress {
  readonly type: string;
  readonly name: string;
}

export type Content =
  | { readonly parsed: ParsedContent; readonly code?: undefined }
  | { readonly parsed?: undefined; readonly code: 'parse-error' }
  | { readonly parsed?: undefined; readonly code: 'internal-scheme'; readonly internalAddress: InternalAddress };

const PARSE_ERROR: Content = { code: 'parse-error' };
const internalContent = (name: string): Content => ({
  code: 'internal-scheme',
  internalAddress: { type: 'URL', name },
});

/** Platforms of handles. A handle belongs to the first platform whose pattern matches. */
const HANDLES = [
  ['TWITTER', /^@[A-Za-z0-9_]{1,15}$/],
  ['TELEGRAM', /^@[A-Za-z][A-Za-z0-9_]{15,31}$/],
  ['BLUESKY', /^@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/i],
] as const;

/**
 * Parses content: a URL, a host, an IP address, a wallet address, a profile link or handle, an e-mail address or IPFS
 * content, in any common spelling. Takes time proportional to the length of the content.
 */
export const parseContent = (content: string): Content => {
  const plain = isBlank(content.charCodeAt(content.length - 1)) ? undefined : parsePlainLocation(content);
  // A host without a path carries no link.
  if (plain?.rest === '') return locationContent(plain) ?? PARSE_ERROR;
  const sent = plain === undefined ? trimLikeUrlParser(content) : content;
  const { text, wrappingLinks, location = plain } = followLinks(sent, plain);
  if (text === sent)
    return location === undefined ? parseFollowedText(sent) : (locationContent(location) ?? PARSE_ERROR);
  const read = text === undefined ? undefined : parseFollowedText(trimLikeUrlParser(text));
  if (wrappingLinks.length === 0)
    return read?.parsed === undefined ? (read ?? PARSE_ERROR) : { parsed: { ...read.parsed, opened: text } };
  if (read?.code === 'internal-scheme') return read;
  // If the carried link cannot be determined, only the wrapping links can have a status.
  const parsed = read?.parsed ?? assetWithoutHost('URL', content.trim());
  return { parsed: { ...parsed, opened: text, wrappingLinks: wrappingLinks.map(locationAsset) } };
};

const parseFollowedText = (sent: string): Content => {
  const refanged = refang(sent);
  if (isInternalScheme(refanged)) return internalContent(refanged);
  // No other type of content begins with `http:` or `https:`.
  const web = locateWeb(sent, refanged);
  return (web ? locationContent(web) : parsePasted(sent, parseText)) ?? PARSE_ERROR;
};

const IS_WEB = /^https?:/i;

const parseText = (sent: string): Content | undefined => {
  const text = refang(sent);
  if (text === '') return undefined;
  if (isInternalScheme(text)) return internalContent(text);
  if (/^[^.@?]*(?:\?|$)/.test(text) || /^[a-z0-9+-]+:/i.test(text)) {
    const account = readAccount(text);
    if (account) return { parsed: accountAsset(account) };
  }
  const email = text.includes('@') ? readEmail(text) : undefined;
  if (email !== undefined) return { parsed: emailAsset(email) };
  if (text.startsWith('@')) return handle(text);
  if (isNativeIpfs(text) || !/[.:]/.test(text)) {
    const cid = readIpfs(text);
    if (cid !== undefined) return { parsed: assetWithoutHost('IPFS', cid) };
  }
  const reddit = readReddit(text);
  if (reddit !== undefined) return { parsed: assetWithoutHost('REDDIT', reddit) };
  const location = IS_WEB.test(text) ? locateWeb(sent, text) : locateLink(sent);
  return location && locationContent(location);
};

const locationContent = (location: Location): Content | undefined => {
  const { host, isName, scheme } = location;
  if (isInternalHost(host, isName)) return internalContent(host);
  if (isName && !host.includes('.')) return scheme === '' ? undefined : internalContent(host);
  return { parsed: locationAsset(location) };
};

const handle = (text: string): Content | undefined => {
  const type = HANDLES.find(([, pattern]) => pattern.test(text))?.[0];
  return type && { parsed: assetWithoutHost(type, profileName(type, text)) };
};

const NO_HOST = { host: undefined, isSharedHost: false, isDnsName: false, isOnHost: false, account: undefined };

const assetWithoutHost = (type: string, name: string): ParsedContent => ({
  ...NO_HOST,
  type,
  name,
  keys: [`${type}:${name}`],
});

const accountAsset = ({ key, keyWithoutTag, relatedAddress }: Account): ParsedContent => ({
  ...assetWithoutHost('ADDRESS', key),
  keys: keyWithoutTag === undefined ? [addressKey(key)] : [addressKey(key), addressKey(keyWithoutTag)],
  account: keyWithoutTag ?? key,
  relatedAccount: relatedAddress?.key,
});

const emailAsset = (email: string): ParsedContent => {
  const host = email.slice(email.lastIndexOf('@') + 1);
  return {
    ...assetWithoutHost('EMAIL', email),
    host,
    isSharedHost: hostsMailboxes(host),
    isDnsName: true,
    isOnHost: true,
  };
};

/**
 * Creates the result for a host or an asset on a host. The object is not spread from another object, because spreading
 * would double the parsing time.
 */
const hostAsset = (
  host: string,
  isDnsName: boolean,
  isSharedHost: boolean,
  type: string,
  name: string,
  keys: readonly string[],
): ParsedContent => ({ type, name, keys, host, isSharedHost, isDnsName, isOnHost: false, account: undefined });

const locationAsset = (location: Location): ParsedContent => {
  const { host, isName, rest } = location;
  const url = urlKey(host);
  const path = pathOf(rest);
  // Without a path, `page` is the same string object as `url`, so that comparing the two is fast.
  const page = path === '' ? url : pageKey(host, path);
  const owner = isName ? profileHost(host) : undefined;
  if (owner !== undefined) return profileHostAsset(host, page, owner);
  const cid = gatewayCid(location, path);
  const profile = isName ? readProfileLink(host, path, rest) : undefined;
  if (profile !== undefined && !profile.isPost) {
    const { type, name } = profile;
    return hostAsset(host, isName, true, type, name, [page, `${type}:${name}`]);
  }
  if (page !== url && (hostsUserPages(host) || hostsProfiles(host))) {
    if (cid !== undefined) return hostAsset(host, isName, true, 'IPFS', cid, [page, `IPFS:${cid}`]);
    return hostAsset(host, isName, true, 'PAGE', page.slice('PAGE:'.length), [page]);
  }
  const keys = page === url ? [url] : [page, url];
  if (cid !== undefined) keys.splice(page === url ? 1 : -1, 0, `IPFS:${cid}`);
  return hostAsset(host, isName, false, 'URL', host, keys);
};

/** Creates the result for a host that belongs to one profile, or for a post on such a host. */
const profileHostAsset = (host: string, page: string, { type, name }: Profile): ParsedContent => {
  const url = urlKey(host);
  return page !== url && hasPosts(type)
    ? hostAsset(host, true, false, 'PAGE', page.slice('PAGE:'.length), [page, url])
    : hostAsset(host, true, false, type, name, [url, `${type}:${name}`]);
};

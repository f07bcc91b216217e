import { readAddress } from './address.js';
import { addressKey, pageKey, readEmail, urlKey } from './asset-key.js';
import { isInternalHost } from './internal-host.js';
import { readCid, readIpfs } from './ipfs.js';
import { isBlank, locateMeant, parsePlainLocation, type Location, pathOf, refang, unwrap } from './location.js';
import { hostsProfiles, isPost, profileHost, profileName, readProfileLink } from './profile.js';
import { carriesMailboxes, hostsUserPages } from './publishing-hosts.js';

/** Content parsed as an asset. */
export interface ParsedContent {
  readonly type: string;
  /** The asset's display name: a host, an account, a profile. */
  readonly name: string;
  /** Keys under which exactly this asset may be known, most specific first. */
  readonly keys: readonly string[];
  /** The host whose listing applies to the asset. */
  readonly host?: string;
  /** Whether anybody can publish on the host, so that its listing says nothing about this asset. */
  readonly isSharedHost: boolean;
  /** Whether the host has parent domains. */
  readonly isDnsName: boolean;
  /** Whether the asset is on the host rather than the host itself, so that the host's listing is inherited. */
  readonly isAtHost: boolean;
  /** The account's key from `readAddress`. */
  readonly account?: string;
}

/** Content that is recognised but not checked. */
export interface Internal {
  readonly type: string;
  readonly name: string;
}

export type Content =
  | { readonly reading: ParsedContent; readonly code?: undefined }
  | { readonly reading?: undefined; readonly code: 'parse-error' }
  | { readonly reading?: undefined; readonly code: 'internal-scheme'; readonly internal: Internal };

const PARSE_ERROR: Content = { code: 'parse-error' };
const internal = (name: string): Content => ({ code: 'internal-scheme', internal: { type: 'URL', name } });

/** Addresses of the browser or the machine. After `view-source` and `blob`, the rest is the browser's too. */
const INTERNAL_SCHEME =
  /^(?:about|blob|brave|chrome|chrome-(?:error|extension|native|search|untrusted)|data|devtools|edge|extension|file|filesystem|javascript|jar|livescript|moz-extension|ms-browser-extension|opera|resource|safari-(?:web-)?extension|vbscript|view-source|vivaldi|wyciwyg):/i;
const HANDLE = /^@[A-Za-z0-9_]{1,15}$/;
/** Longer than Twitter names can be. */
const TELEGRAM_HANDLE = /^@[A-Za-z][A-Za-z0-9_]{15,31}$/;
const BLUESKY_HANDLE = /^@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63})+$/i;

/** App links and their web equivalents. */
const APP_LINKS: readonly [RegExp, string][] = [
  [/^tg:(?:\/\/)?resolve\?/i, 'https://t.me/resolve?'],
  [/^tg:(?:\/\/)?join\?invite=/i, 'https://t.me/+'],
  [/^(?:twitter|x):\/\/user\?screen_name=/i, 'https://x.com/'],
  [/^whatsapp:\/\/send\/?\?/i, 'https://api.whatsapp.com/send?'],
];

const webLink = (text: string): string => {
  for (const [pattern, link] of APP_LINKS) if (pattern.test(text)) return text.replace(pattern, link);
  return text;
};

/**
 * Parses content: a URL, a host, an IP address, a wallet address, a profile link or handle, an e-mail address or IPFS
 * content, however it is written. Takes time proportional to its length.
 */
export const parseContent = (content: string): Content => {
  const plain = isBlank(content.charCodeAt(content.length - 1)) ? undefined : parsePlainLocation(content);
  if (plain !== undefined)
    return isInternalHost(plain.host, true) ? internal(plain.host) : { reading: locationReading(plain) };
  const sent = unwrap(content);
  const text = refang(sent);
  if (text === '') return PARSE_ERROR;
  if (INTERNAL_SCHEME.test(text)) return internal(text);
  // Nothing else begins like this, whatever follows.
  const web = WEB.test(text) ? locateMeant(sent, text) : undefined;
  if (web !== undefined) return locationContent(web);
  if (!/[.@]/.test(text) || /^[a-z0-9-]+:/i.test(text)) {
    const address = readAddress(text);
    if (address) return { reading: accountReading(address.key) };
  }
  if (text.startsWith('@')) return handle(text);
  const email = text.includes('@') ? readEmail(text) : undefined;
  if (email !== undefined) return { reading: emailReading(email) };
  if (/^ipfs:/i.test(text) || !/[.:]/.test(text)) {
    const cid = readIpfs(text);
    if (cid !== undefined) return { reading: plainReading('IPFS', cid) };
  }
  const link = webLink(sent);
  const location = link === sent ? locateMeant(sent, text) : locateMeant(link);
  return location === undefined ? PARSE_ERROR : locationContent(location);
};

const WEB = /^https?:/i;

const locationContent = (location: Location): Content => {
  const { host, isName, scheme } = location;
  if (isInternalHost(host, isName)) return internal(host);
  if (isName && !host.includes('.')) return scheme === '' ? PARSE_ERROR : internal(host);
  return { reading: locationReading(location) };
};

const handle = (text: string): Content => {
  if (HANDLE.test(text)) return { reading: plainReading('TWITTER', profileName('TWITTER', text)) };
  if (TELEGRAM_HANDLE.test(text)) return { reading: plainReading('TELEGRAM', profileName('TELEGRAM', text)) };
  if (BLUESKY_HANDLE.test(text)) return { reading: plainReading('BLUESKY', profileName('BLUESKY', text)) };
  return PARSE_ERROR;
};

/** An asset without a host. */
const plainReading = (type: string, name: string): ParsedContent => ({
  type,
  name,
  keys: [`${type}:${name}`],
  host: undefined,
  isSharedHost: false,
  isDnsName: false,
  isAtHost: false,
  account: undefined,
});

const accountReading = (account: string): ParsedContent => ({
  type: 'ADDRESS',
  name: account,
  keys: [addressKey(account)],
  host: undefined,
  isSharedHost: false,
  isDnsName: false,
  isAtHost: false,
  account,
});

const emailReading = (email: string): ParsedContent => {
  const host = email.slice(email.lastIndexOf('@') + 1);
  return {
    type: 'EMAIL',
    name: email,
    keys: [`EMAIL:${email}`],
    host,
    isSharedHost: carriesMailboxes(host),
    isDnsName: true,
    isAtHost: true,
    account: undefined,
  };
};

/** A host, or an asset on one. (Spreading fields would cost more than the rest of parsing.) */
const hostReading = (
  host: string,
  isDnsName: boolean,
  isSharedHost: boolean,
  type: string,
  name: string,
  keys: readonly string[],
): ParsedContent => ({ type, name, keys, host, isSharedHost, isDnsName, isAtHost: false, account: undefined });

/** A gateway's host name beginning with a CID. */
const IPFS_HOST = /^([a-z0-9]{46,63})\.ipfs\./;

const locationReading = ({ host, isName, rest }: Location): ParsedContent => {
  const url = urlKey(host);
  const owner = isName ? profileHost(host) : undefined;
  if (owner !== undefined)
    return hostReading(host, true, false, owner.type, owner.name, [url, `${owner.type}:${owner.name}`]);
  const ipfsHost = isName ? IPFS_HOST.exec(host)?.[1] : undefined;
  const cid = ipfsHost === undefined ? undefined : readCid(ipfsHost);
  if (rest === '' || rest === '/')
    return hostReading(host, isName, false, 'URL', host, cid === undefined ? [url] : [url, `IPFS:${cid}`]);
  const path = pathOf(rest);
  const page = pageKey(host, path);
  const profile = isName ? readProfileLink(host, path, rest) : undefined;
  if (profile !== undefined && !isPost(profile, path)) {
    const { type, name } = profile;
    return hostReading(host, isName, true, type, name, [page, `${type}:${name}`]);
  }
  const inPath = cid ?? (/^\/ipfs\//i.test(path) ? readIpfs(path) : undefined);
  if (page !== url && (hostsUserPages(host) || hostsProfiles(host))) {
    if (inPath !== undefined) return hostReading(host, isName, true, 'IPFS', inPath, [page, `IPFS:${inPath}`]);
    return hostReading(host, isName, true, 'PAGE', page.slice('PAGE:'.length), [page]);
  }
  const keys = page === url ? [url] : [page, url];
  if (inPath !== undefined) keys.splice(-1, 0, `IPFS:${inPath}`);
  return hostReading(host, isName, false, 'URL', host, keys);
};

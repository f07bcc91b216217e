import { createRequire } from 'node:module';
import { memoizeLastTwo, searchOnce, testByCode, unescaped } from './copied-text.js';
import { canonicalAddress } from './ip-address.js';

interface Tr46 {
  toASCII(name: string, options: Readonly<Record<string, boolean>>): string | null;
}

/**
 * Options for "domain to ASCII" of the WHATWG URL standard with `beStrict` false. The bidirectional rules are not
 * checked, because some URL parsers, such as the URL parser of Node 20, accept names that violate these rules.
 */
const OPTIONS = { checkJoiners: true };

const require = createRequire(import.meta.url);
/**
 * The module is loaded at the first use, because its tables take 5 MB and many processes never parse a non-ASCII name.
 */
let tr46: Tr46 | undefined;

/**
 * Converts a non-ASCII name to ASCII. Keys must not depend on the version of Node, so this function is used instead of
 * the URL parser of Node, whose results differ between versions.
 * @param name a short name: the time grows with the number of labels and the square of their length
 * @returns undefined if the name is not valid
 */
const nameToAscii = memoizeLastTwo((name): string | undefined => {
  tr46 ??= require('tr46') as Tr46;
  return tr46.toASCII(name, OPTIONS) || undefined;
});

/** A parsed web address. */
export interface Location {
  /** The host in lower case and punycode, without a trailing dot. IPv6 addresses are in brackets. */
  readonly host: string;
  /** Whether the host is a DNS name rather than an IP address. */
  readonly isName: boolean;
  /** The scheme in lower case without the colon; empty if there is no scheme. */
  readonly scheme: string;
  /** Path, query and fragment, as sent. */
  readonly rest: string;
}

/** Maximum length of a DNS name in octets. */
export const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
/** Maximum cost of converting a name: distinct characters times length, summed over the labels. */
const MAX_CONVERSION_WORK = (MAX_NAME_LENGTH + 3) ** 2;
/** Maximum length of an IPv6 address with brackets, zone and port. */
const MAX_IPV6_LENGTH = 128;

const DEFANGED = /^h(?!tt)/i;
const hasBracket = searchOnce(/[[\](){}]/);
const hasLineBreak = searchOnce(/[\t\n\r]/);
const SCHEME = /^([a-z][a-z0-9+.-]{0,63}):[\\/]{2}/i;
/** Schemes for which the URL parser accepts any number of slashes. */
const WEB_SCHEME = /^(https?|wss?|ftp):[\\/]*/i;
/** Matches a location whose host is already normalized. Any other text is parsed with the URL parser. */
const NORMALIZED_LOCATION = /^(?:(https?):\/\/)?((?!-)(?:[a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{0,62})(?=\/|$)/;
/** Matches a path that is already normalized except for a trailing slash. */
const NORMALIZED_PATH = /^(?:\/[A-Za-z0-9\-_~@]+)+\/?$/;
const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/**
 * Matches hosts that are accepted without a scheme. Browsers also open labels with `*` and labels that begin with `-`.
 */
const BARE_LABELS = /^[a-z0-9_*-]{1,63}(?:\.[a-z0-9_*-]{1,63})*$/;

/**
 * Removes the characters that the URL parser ignores: white space and control characters at the ends, tabs and line
 * breaks anywhere.
 */
export const trimLikeUrlParser = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  const inner = text.slice(from, to);
  return hasLineBreak(inner) ? inner.replace(/[\t\n\r]+/g, '') : inner;
};

/**
 * Whether a character at either end of a text is ignored: the URL parser ignores the character, or the character is
 * non-ASCII white space, which pasting may add.
 */
export const isBlank = testByCode(/[\0-\x20\s]/);

/**
 * Stands for a dot only beside other marks, and only in a text that no browser opens: for `https://x.evil\.example`, a
 * browser opens the host `x.evil`.
 */
const ESCAPED_DOT = String.raw`\.`;

/** Whether a browser opens a host of the Internet for a text, as it is. */
const isOpened = (text: string): boolean => WEB_SCHEME.test(text) && /[.:]/.test(hostnameOf(text) ?? '');

/** Undoes defanging: `hxxps[:]//evil[.]example`. */
export const refang = memoizeLastTwo((text) => {
  if (!hasBracket(text) && !DEFANGED.test(text)) return text;
  const refanged = text
    .replace(/^h[tx*_]{2}p(s?)(?=:|\[|\(|\{)/i, (_, s: string) => `http${s}`)
    .replaceAll('[://]', '://')
    .replace(/[[({]([.@:/])[\])}]/g, '$1')
    .replace(/[[({]dot[\])}]/gi, '.')
    .replace(/[[({]at[\])}]/gi, '@')
    .replace(/\[\.|\.\]/g, '.');
  const isMarked = refanged !== text && refanged.includes(ESCAPED_DOT) && !isOpened(text);
  return isMarked ? refanged.replaceAll(ESCAPED_DOT, '.') : refanged;
});

/**
 * Parses text that is already normalized, as most content is. This is the fast path.
 * @returns undefined if the text must be parsed with `parseDefangedLocation`
 */
export const parsePlainLocation = (text: string): Location | undefined => {
  const found = NORMALIZED_LOCATION.exec(text);
  if (found === null) return undefined;
  const host = found[2]!;
  if (host.length > MAX_NAME_LENGTH) return undefined;
  return { host, isName: true, scheme: found[1] ?? '', rest: text.slice(found[0].length) };
};

/** The last two labels of a host, or the host if it has fewer. */
export const lastTwoLabels = (host: string): string => host.slice(host.lastIndexOf('.', host.lastIndexOf('.') - 1) + 1);

/** Whether a name in lower case and punycode is a valid DNS name. */
export const isDnsName = (host: string): boolean => host.length <= MAX_NAME_LENGTH && LABELS.test(host);

/**
 * Parses text that may be defanged. Defanging marks in a host are undone, because no DNS name contains them. Otherwise
 * returns the host that the WHATWG URL parser finds.
 * @param text text after `trimLikeUrlParser`
 */
export const parseDefangedLocation = memoizeLastTwo((text): Location | undefined => {
  const refanged = refang(text);
  return parseLocation(refanged) ?? (refanged === text ? undefined : parseLocation(text));
});

/**
 * @param text text after `trimLikeUrlParser`
 * @returns undefined if the text has no valid host. If the text has a web scheme, the URL parser decides; otherwise the
 *   host must also be a possible DNS name
 */
export const parseLocation = (text: string): Location | undefined => {
  const plain = parsePlainLocation(text);
  if (plain !== undefined) return plain;
  const web = WEB_SCHEME.exec(text);
  const found = web ?? SCHEME.exec(text);
  const scheme = found ? found[1]!.toLowerCase() : '';
  let from = found ? found[0].length : 0;
  if (!found && (text.startsWith('//') || text.startsWith('\\\\'))) from = 2;
  const address = from === 0 ? text : text.slice(from);

  const end = address.search(/[/\\?#]/);
  const authority = end === -1 ? address : address.slice(0, end);
  const rest = end === -1 ? '' : address.slice(end);
  if (web === null && /[\s<>"]/.test(authority)) return undefined;
  // Everything before the last @ is the user.
  const at = authority.lastIndexOf('@');
  const server = authority.slice(at + 1);
  // Links without slashes may have a version or chain after the @: `wc:TOPIC@2`, `ethereum:NAME.eth@1`.
  if (!found && at !== -1 && /^\d+$/.test(server)) return undefined;
  const host = hostOf(server, web !== null);
  if (host === undefined) return undefined;
  return { host, isName: !host.startsWith('[') && !/\.\d+$/.test(host), scheme, rest };
};

/** An IPv6 address with a zone (`fe80::1%eth0`, in a URL `[fe80::1%25eth0]`), which only selects a local interface. */
const ZONE = /^(\[?[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*)%[\w.~%-]{1,64}(\]?(?::\d{1,5})?)$/i;
const BARE_IPV6 = /^[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*$/i;

/** @param authority the authority without the user */
const hostOf = (authority: string, isWeb: boolean): string | undefined => {
  const address = authority.length > MAX_IPV6_LENGTH ? authority : bracketed(authority);
  let host: string | undefined;
  if (address.startsWith('[')) {
    host = parsedHost(address);
    return host && canonicalHost(host);
  }
  host = nameOf(address, isWeb);
  if (host === undefined) return undefined;
  if (host.endsWith('.') && host.length > 1) host = host.slice(0, -1);
  return isWeb || (host.length <= MAX_NAME_LENGTH && BARE_LABELS.test(host)) ? host : undefined;
};

/**
 * Returns the host that the URL parser of Node finds. The versions of the URL parser differ for non-ASCII names and
 * punycode.
 */
const parsedHost = (address: string): string | undefined => hostnameOf(`http://${address}/`);

const hostnameOf = (url: string): string | undefined => {
  try {
    return new URL(url).hostname;
  } catch {
    return undefined;
  }
};

const NAME = /^([^:]+)(?::(\d{0,64}))?$/;
/** Ethereum's name service takes both apostrophes for one, and DNS allows neither. */
const NAME_WITH_APOSTROPHE = /'.*\.eth\.?$/i;
const PUNYCODE = /(^|\.)xn--/gi;

const nameOf = (address: string, isWeb: boolean): string | undefined => {
  const [, sent, port = ''] = NAME.exec(address) ?? [];
  if (sent === undefined || Number(port) > 65_535) return undefined;
  // The URL parser rejects escapes that are broken or not UTF-8.
  const plain = sent.includes('%') ? unescaped(sent) : sent;
  if (plain === undefined) return undefined;
  const name = NAME_WITH_APOSTROPHE.test(plain) ? plain.replaceAll("'", '’') : plain;
  if (!BEYOND_ASCII.test(name)) return asciiHost(name);
  const letters = name.replace(IGNORED, '');
  if (isSlowToConvert(letters)) return isWeb ? convertLastLabels(name) : undefined;
  // For a name that is too long for DNS, differences between versions do not matter, and the URL parser is faster.
  const ascii = letters.length > MAX_NAME_LENGTH ? parsedHost(letters) : nameToAscii(letters);
  return ascii && asciiHost(ascii);
};

/** Normalizes an ASCII name or an IPv4 address. Punycode is not validated. */
const asciiHost = (name: string): string | undefined => {
  if (isForbidden(name)) return undefined;
  const masked = name.replace(PUNYCODE, '$1xx--');
  const host = parsedHost(masked);
  return host === undefined || masked === name ? host : name.toLowerCase();
};

const bracketed = (authority: string): string => {
  const address = authority.includes('%') ? authority.replace(ZONE, '$1$2') : authority;
  return BARE_IPV6.test(address) ? `[${address}]` : address;
};

/** Returns the IPv4 address if a host is an IPv6 address that embeds an IPv4 address; otherwise returns the host. */
const canonicalHost = (host: string): string => {
  const address = canonicalAddress(host) ?? host;
  return address.includes(':') ? host : address;
};

/** Matches characters that disappear from a name, which have the status `ignored` in UTS #46. */
const IGNORED =
  // The class contains single code points, although some of them are combining characters.
  // oxlint-disable-next-line no-misleading-character-class
  /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2064\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0100}-\u{e01ef}]+/gu;
const BEYOND_ASCII = /[^\0-\x7f]/;
const ASCII = /[\0-\x7f]+/g;
const DOTS = /[.\u3002\uff0e\uff61]/;
const WIDE_DOTS = /[\u3002\uff0e\uff61]+/g;
const LONG_PUNYCODE = /xn--[^.]{60}/i;

/**
 * Whether a name would be slow to convert, because punycode and the sorting of combining marks take quadratic time.
 * Valid DNS names are shorter, unless their letters are decomposed.
 * @param letters the name without characters that IDNA ignores
 */
const isSlowToConvert = (letters: string): boolean => {
  if (LONG_PUNYCODE.test(letters) || letters.replace(ASCII, '').length > MAX_NAME_LENGTH) return true;
  let work = 0;
  for (const label of letters.split(DOTS)) work += new Set(label.replace(ASCII, '')).size * label.length;
  return work > MAX_CONVERSION_WORK;
};

/** Matches characters that a host name must not have. */
const FORBIDDEN_CHARACTERS = /[\0-\x20#%/:<>?@[\\\]^|\x7f]/;
const isForbidden = (host: string): boolean => FORBIDDEN_CHARACTERS.test(host) || !host.isWellFormed();
const NUMBER = /^(?:\d+|0x[\da-f]*)\.?$/;

/** Normalizes only the last labels of a name, which is enough to match its parent domains. */
const convertLastLabels = (name: string): string | undefined => {
  const host = name.replace(WIDE_DOTS, (dots) => '.'.repeat(dots.length)).toLowerCase();
  if (isForbidden(host) || NUMBER.test(host.slice(host.lastIndexOf('.', host.length - 2) + 1))) return undefined;
  const end = host.indexOf('.', host.length - 2 * MAX_LABEL_LENGTH) + 1;
  if (end === 0) return host;
  const last = host.slice(end).replace(IGNORED, '');
  const ascii = BEYOND_ASCII.test(last) ? nameToAscii(last) : last;
  return ascii === undefined || isForbidden(ascii) ? undefined : host.slice(0, end) + ascii;
};

/** Returns where the query or the fragment of `Location.rest` begins. */
export const endOfPath = (rest: string): number => {
  const end = rest.search(/[?#]/);
  return end === -1 ? rest.length : end;
};

/** Parses the query of `Location.rest`. The result must not be changed, because it is memoized. */
export const queryOf = memoizeLastTwo((rest): URLSearchParams => {
  const [beforeFragment = ''] = rest.split('#', 1);
  const start = beforeFragment.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : trimLikeUrlParser(beforeFragment.slice(start)));
});

/**
 * Returns the normalized path of `Location.rest`: dot segments resolved, percent escapes normalized, without query,
 * fragment and trailing slash. Returns '' for the root. Case is kept.
 */
export const pathOf = memoizeLastTwo((rest): string => {
  if (rest === '' || rest === '/') return '';
  if (NORMALIZED_PATH.test(rest)) return rest.replace(/\/+$/, '');
  const end = endOfPath(rest);
  // A blank at the end of a path is kept if a query or a fragment follows the path.
  const sent = end === rest.length ? rest : `${rest.slice(0, end)}?`;
  const { pathname } = new URL(/^[/\\]/.test(sent) ? `http://h${sent}` : `http://h/${sent}`);
  // The URL parser's own escapes are normalized.
  const path = rest.includes('%') ? pathname.replace(CODE, normalCode) : pathname;
  let length = path.length;
  while (length > 0 && path.charCodeAt(length - 1) === 0x2f) length--;
  return path.slice(0, length);
});

/**
 * Matches percent escapes that are not normalized. Normalizing decodes the escapes of unreserved characters (RFC 3986,
 * 6.2.2.2) and of `@`, and changes other escapes to upper case.
 */
const CODE =
  /%(?:(2[DEde]|3\d|4[\dA-Fa-f]|5[\dAFaf]|6[1-9A-Fa-f]|7[\dAEae])|[a-f][\dA-Fa-f]|[\dA-F][a-f])(?<!%[\dA-Fa-f]?%..)/g;
const normalCode = (code: string, plain: string | undefined): string =>
  plain === undefined ? code.toUpperCase() : String.fromCharCode(Number.parseInt(plain, 16));

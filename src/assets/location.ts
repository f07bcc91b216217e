import { nameToAscii } from './idna.js';
import { simplestAddress } from './ip-address.js';
import { remembered } from './text/remembered.js';

/** A parsed web address: a host, and what follows it. */
export interface Location {
  /** Lower-case, punycode, without a final dot; an IPv6 address in brackets. */
  readonly host: string;
  /** Whether the host is a DNS name rather than an IP address. */
  readonly isName: boolean;
  /** Lower case, without the colon; '' if missing. */
  readonly scheme: string;
  /** Path, query and fragment, as sent. */
  readonly rest: string;
}

/** The limit of DNS, in octets. */
const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
/** Distinct characters times length, summed over the labels passed to the URL parser. */
const MAX_WORK = (MAX_NAME_LENGTH + 3) ** 2;
/** An IPv6 address with brackets, zone and port is shorter. */
const MAX_IPV6 = 128;

const DEFANGED = /[[\](){}]|^h(?!tt)/i;
const SCHEME = /^([a-z][a-z0-9+.-]{0,63}):[\\/]{2}/i;
/** Schemes with the URL parser's special host rules, whatever the number of slashes. */
const WEB_SCHEME = /^(https?|wss?|ftp):[\\/]*/i;
/** A host already in normalised form; anything else goes through the URL parser. */
const PLAIN = /^(?:(https?):\/\/)?((?!-)(?:[a-z0-9_-]{1,63}\.)+[a-z][a-z0-9-]{0,62})(?=\/|$)/;
/** A path in canonical form: no dot segments, nothing to escape. The few trailing slashes are cheap to cut. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9\-_~@]+)+\/?$/;
const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** Hosts accepted without a scheme, including two odd forms that browsers open. */
const BARE_LABELS = /^[a-z0-9_*-]{1,63}(?:\.[a-z0-9_*-]{1,63})*$/;

/** Strips what the URL parser ignores: blanks and control characters at the ends, tabs and line breaks inside. */
export const unwrap = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  const inner = text.slice(from, to);
  return /[\t\n\r]/.test(inner) ? inner.replace(/[\t\n\r]+/g, '') : inner;
};

/** Whether a character at either end is ignored by the URL parser, or is a blank beyond ASCII, which came from copying. */
export const isBlank = (code: number): boolean => code <= 0x20 || (code > 0x7e && /\s/.test(String.fromCharCode(code)));

/** Undoes defanging: `hxxps[:]//evil[.]example`. */
export const refang = (text: string): string => (DEFANGED.test(text) ? refanged(text) : text);

const refanged = remembered((text) =>
  text
    .replace(/^h[tx*_]{2}p(s?)(?=:|\[|\(|\{)/i, (_, s: string) => `http${s}`)
    .replace(/\[:\/\/\]/g, '://')
    .replace(/[[({](?:\.|dot)[\])}]/gi, '.')
    .replace(/[[({](?:@|at)[\])}]/gi, '@')
    .replace(/[[({]:[\])}]/g, ':')
    .replace(/[[({]\/[\])}]/g, '/')
    .replace(/\[\.|\.\]/g, '.'),
);

/**
 * Fast path for text already in normalised form, which most content is.
 * @returns undefined if `locateMeant` has to decide
 */
export const parsePlainLocation = (text: string): Location | undefined => {
  const found = PLAIN.exec(text);
  if (found === null) return undefined;
  const host = found[2]!;
  if (host.length > MAX_NAME_LENGTH) return undefined;
  return { host, isName: true, scheme: found[1] ?? '', rest: text.slice(found[0].length) };
};

/** Whether a lower-case, punycode name fits DNS. */
export const isDnsName = (host: string): boolean => host.length <= MAX_NAME_LENGTH && LABELS.test(host);

/**
 * Parses possibly defanged text. Defanging marks inside a host are undone, since no DNS name contains them; otherwise
 * the host is the one the WHATWG URL parser finds.
 * @param text unwrapped
 */
export const locateMeant = remembered((text): Location | undefined => {
  const meant = refang(text);
  return parseLocation(meant) ?? (meant === text ? undefined : parseLocation(text));
});

/**
 * @param text unwrapped
 * @returns undefined if the text has no host: with a web scheme what the URL parser rejects, without one also what DNS
 *   could not hold
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
  // Everything before the last @ is a user.
  const at = authority.lastIndexOf('@');
  const server = authority.slice(at + 1);
  // What stands after an @ in links without slashes is a number of their own: `wc:TOPIC@2`, `ethereum:NAME.eth@1`.
  if (!found && at !== -1 && /^\d+$/.test(server)) return undefined;
  const host = hostOf(server, web !== null);
  if (host === undefined) return undefined;
  return { host, isName: !host.startsWith('[') && !/\.\d+$/.test(host), scheme, rest };
};

/** An IPv6 address with a zone (`fe80::1%eth0`, in a URL `[fe80::1%25eth0]`), which only selects a local interface. */
const ZONE = /^(\[?[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*)%[\w.~%-]{1,64}(\]?(?::\d{1,5})?)$/i;
const BARE_IPV6 = /^[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*$/i;

/** @param authority without the user */
const hostOf = (authority: string, isWeb: boolean): string | undefined => {
  const address = authority.length > MAX_IPV6 ? authority : bracketed(authority);
  let host: string | undefined;
  if (address.startsWith('[')) {
    host = parsedHost(address);
    return host && simplestHost(host);
  }
  host = nameOf(address, isWeb);
  if (host === undefined) return undefined;
  if (host.endsWith('.') && host.length > 1) host = host.slice(0, -1);
  return isWeb || (host.length <= MAX_NAME_LENGTH && BARE_LABELS.test(host)) ? host : undefined;
};

/** The host that the platform's URL parser finds. Its versions disagree about names beyond ASCII and punycode. */
const parsedHost = (address: string): string | undefined => {
  try {
    return new URL(`http://${address}/`).hostname;
  } catch {
    return undefined;
  }
};

const NAME = /^([^:]+)(?::(\d{0,64}))?$/;
const PUNYCODE = /(?<=^|\.)xn--/gi;

const nameOf = (address: string, isWeb: boolean): string | undefined => {
  const [, sent, port = ''] = NAME.exec(address) ?? [];
  if (sent === undefined || Number(port) > 65_535) return undefined;
  const name = sent.includes('%') ? unescaped(sent) : sent;
  if (name === undefined) return undefined;
  if (!BEYOND_ASCII.test(name)) return asciiHost(name);
  const letters = name.replace(IGNORED, '');
  if (isLongToConvert(letters)) return isWeb ? endConverted(name) : undefined;
  // No DNS name is as long, so that versions may disagree; the platform is faster with many labels.
  const ascii = letters.length > MAX_NAME_LENGTH ? parsedHost(letters) : nameToAscii(letters);
  return ascii && asciiHost(ascii);
};

/** An ASCII name or an IPv4 address. Punycode stays as it is, even if it decodes to what no browser opens. */
const asciiHost = (name: string): string | undefined => {
  if (NO_NAME.test(name)) return undefined;
  const masked = name.replace(PUNYCODE, 'xx--');
  const host = parsedHost(masked);
  return host === undefined || masked === name ? host : name.toLowerCase();
};

const bracketed = (authority: string): string => {
  const address = authority.includes('%') ? authority.replace(ZONE, '$1$2') : authority;
  return BARE_IPV6.test(address) ? `[${address}]` : address;
};

/** An IPv6 address that leads to an IPv4 address is that address; another one stays in brackets. */
const simplestHost = (host: string): string => {
  const address = simplestAddress(host) ?? host;
  return address.includes(':') ? host : address;
};

/** @returns undefined if the escapes are broken or not UTF-8, which the URL parser rejects too */
const unescaped = (authority: string): string | undefined => {
  try {
    return decodeURIComponent(authority);
  } catch {
    return undefined;
  }
};

/** Characters that disappear from a name (those of status `ignored` in UTS #46). */
const IGNORED =
  // Each of them is a code point of its own here, combining or not.
  // oxlint-disable-next-line no-misleading-character-class
  /[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2064\u206a-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\u{1bca0}-\u{1bca3}\u{1d173}-\u{1d17a}\u{e0100}-\u{e01ef}]+/gu;
const BEYOND_ASCII = /[^\0-\x7f]/;
const ASCII = /[\0-\x7f]+/g;
const DOTS = /[.\u3002\uff0e\uff61]/;
const WIDE_DOTS = /[\u3002\uff0e\uff61]/g;
const LONG_PUNYCODE = /xn--[^.]{60}/i;

/**
 * Whether a name would be slow to convert: punycode and sorting combining marks are quadratic. Valid DNS names are
 * shorter, unless their letters are decomposed.
 * @param letters without characters that disappear
 */
const isLongToConvert = (letters: string): boolean => {
  if (LONG_PUNYCODE.test(letters) || letters.replace(ASCII, '').length > MAX_NAME_LENGTH) return true;
  let work = 0;
  for (const label of letters.split(DOTS)) work += new Set(label.replace(ASCII, '')).size * label.length;
  return work > MAX_WORK;
};

/** Characters that are not allowed in a name. */
const NO_NAME = /[\0-\x20#%/:<>?@[\\\]^|\x7f]|\p{Cs}/u;
const NUMBER = /^(?:\d+|0x[\da-f]*)\.?$/;

/** Normalises only the last labels of a name, so that it is matched under its parent domains. */
const endConverted = (name: string): string | undefined => {
  const host = name.replace(WIDE_DOTS, '.').toLowerCase();
  if (NO_NAME.test(host) || NUMBER.test(host.slice(host.lastIndexOf('.', host.length - 2) + 1))) return undefined;
  const end = host.indexOf('.', host.length - 2 * MAX_LABEL_LENGTH) + 1;
  if (end === 0) return host;
  const last = host.slice(end).replace(IGNORED, '');
  const ascii = BEYOND_ASCII.test(last) ? nameToAscii(last) : last;
  return ascii === undefined || NO_NAME.test(ascii) ? undefined : host.slice(0, end) + ascii;
};

/** The query part of what follows an authority. */
export const queryOf = (rest: string): URLSearchParams => {
  const [beforeFragment = ''] = rest.split('#', 1);
  const start = beforeFragment.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : unwrap(beforeFragment.slice(start)));
};

/**
 * The path part of what follows an authority: dot segments resolved, percent escapes normalised, no query, fragment or
 * trailing slash; '' for the root. Case-sensitive.
 */
export const pathOf = (rest: string): string => {
  if (rest === '' || rest === '/') return '';
  if (PLAIN_PATH.test(rest)) return rest.replace(/\/+$/, '');
  const { pathname } = new URL(/^[/\\]/.test(rest) ? `http://h${rest}` : `http://h/${rest}`);
  const path = pathname.includes('%') ? pathname.replace(CODE, normalCode) : pathname;
  let end = path.length;
  while (end > 0 && path.charCodeAt(end - 1) === 0x2f) end--;
  return path.slice(0, end);
};

/**
 * Escapes of unreserved characters (RFC 3986, 6.2.2.2) and of `@` are decoded, other escapes upper-cased. Normalised
 * escapes do not match, since a path may have thousands.
 */
const CODE = /%(?:(2[DEde]|3\d|4[\dA-Fa-f]|5[\dAFaf]|6[1-9A-Fa-f]|7[\dAEae])|[a-f][\dA-Fa-f]|[\dA-F][a-f])/g;
const normalCode = (code: string, plain: string | undefined): string =>
  plain === undefined ? code.toUpperCase() : String.fromCharCode(Number.parseInt(plain, 16));

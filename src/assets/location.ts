/** Where on the web a text points: a host, and what follows it. */
export interface Location {
  /** Lower-case, punycode, without a final dot; an IPv6 address in brackets. */
  readonly host: string;
  /** Whether the host is a name of DNS rather than an IP address. */
  readonly isName: boolean;
  /** Lower-case and without the colon; '' where the text had none. */
  readonly scheme: string;
  /** What follows the authority, as it was sent: path, query and fragment. */
  readonly rest: string;
}

/** What DNS can hold, in octets. */
const MAX_NAME_LENGTH = 253;
const MAX_LABEL_LENGTH = 63;
/** Different characters times length, over all labels of a name that the URL parser is given. */
const MAX_WORK = (MAX_NAME_LENGTH + 3) ** 2;
/** An IPv6 address with brackets, zone and port is shorter. */
const MAX_IPV6 = 128;

const DEFANGED = /[[\](){}]|^h(?!tt)/i;
const SCHEME = /^([a-z][a-z0-9+.-]{0,63}):[\\/]{2}/i;
/** Schemes whose host is read by the same rules, however many slashes there are. */
const WEB_SCHEME = /^(https?|wss?|ftp):[\\/]*/i;
/** A host that is already as this service writes hosts: anything else goes through the URL parser. */
const PLAIN = /^(?:(https?):\/\/)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.[a-z][a-z0-9-]*)(?=\/|$)/;
/** A path in its only form: no dot segments, nothing to escape. The slashes at its end are few, so cutting is cheap. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9\-_~@]+)+\/?$/;
const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;
/** What is taken for a host without a scheme; browsers open names of both odd forms. */
const BARE_LABELS = /^[a-z0-9_*-]{1,63}(?:\.[a-z0-9_*-]{1,63})*$/;

/** Text as the URL parser begins with it: without blanks and control characters around, or tabs and line breaks inside. */
export const unwrap = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && isBlank(text.charCodeAt(from))) from += 1;
  while (to > from && isBlank(text.charCodeAt(to - 1))) to -= 1;
  const inner = text.slice(from, to);
  return /[\t\n\r]/.test(inner) ? inner.replace(/[\t\n\r]+/g, '') : inner;
};

/** Whether the URL parser, or whoever copied the text, means nothing by a character at either end. */
export const isBlank = (code: number): boolean => code <= 0x20 || (code > 0x7e && /\s/.test(String.fromCharCode(code)));

/** Text written so that nobody clicks it by accident, as it was meant: `hxxps[:]//evil[.]example`. */
export const refang = (text: string): string => {
  if (!DEFANGED.test(text)) return text;
  return text
    .replace(/^h[tx*_]{2}p(s?)(?=:|\[|\(|\{)/i, (_, s: string) => `http${s}`)
    .replace(/\[:\/\/\]/g, '://')
    .replace(/[[({](?:\.|dot)[\])}]/gi, '.')
    .replace(/[[({](?:@|at)[\])}]/gi, '@')
    .replace(/[[({]:[\])}]/g, ':')
    .replace(/[[({]\/[\])}]/g, '/')
    .replace(/\[\.|\.\]/g, '.');
};

/**
 * Reads what is already written as hosts are written here, which most content is, without a look at anything else.
 * @returns undefined where `locate` has to look
 */
export const parsePlainLocation = (text: string): Location | undefined => {
  const found = PLAIN.exec(text);
  if (found === null) return undefined;
  const host = found[2]!;
  if (!isDnsName(host)) return undefined;
  return { host, isName: true, scheme: found[1] ?? '', rest: text.slice(found[0].length) };
};

/** Whether DNS can hold the name, which is in lower case and punycode. */
export const isDnsName = (host: string): boolean => host.length <= MAX_NAME_LENGTH && LABELS.test(host);

/**
 * Reads text that may be defanged. Marks of defanging inside a host mean what they stand for, since no name of DNS has
 * them; whatever else the WHATWG URL parser takes as a web address has the host that the parser finds.
 * @param text unwrapped
 * @param meant the text refanged
 */
export const locateMeant = (text: string, meant = refang(text)): Location | undefined =>
  parseLocation(meant) ?? (meant === text ? undefined : parseLocation(text));

/**
 * @param text unwrapped
 * @returns undefined where the text names no host: with the scheme of the web what the URL parser refuses, without it
 *   also what DNS could not hold
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
  // What stands before the last @ is a user, whatever it holds.
  const host = hostOf(authority.slice(authority.lastIndexOf('@') + 1), web !== null);
  if (host === undefined) return undefined;
  return { host, isName: !host.startsWith('[') && !/\.\d+$/.test(host), scheme, rest };
};

const ASCII_NAME = /^([a-z0-9_.-]+)(?::(\d*))?$/i;

/**
 * A name with a label in punycode that the platform's parser does not take. Its versions do not agree on which labels
 * are in order, and a key must not depend on that; so what is ASCII already stays as it is.
 */
const rawPunycode = (authority: string): string | undefined => {
  const [, name = '', port = ''] = ASCII_NAME.exec(authority) ?? [];
  const isOne = /xn--/i.test(name) && /\.[a-z][^.]*\.?$/i.test(name) && Number(port) <= 65_535;
  return isOne ? name.toLowerCase() : undefined;
};

/** An IPv6 address with a zone (`fe80::1%eth0`, in a URL `[fe80::1%25eth0]`), which names a card of the machine only. */
const ZONE = /^(\[?[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*)%[\w.~%-]{1,64}(\]?(?::\d{1,5})?)$/i;
const BARE_IPV6 = /^[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*$/i;

/** @param authority without the user */
const hostOf = (authority: string, isWeb: boolean): string | undefined => {
  if (authority === '') return undefined;
  if (authority.length > MAX_LABEL_LENGTH && /[^\0-\x7f]|%/.test(authority)) {
    const name = unescaped(authority);
    if (name === undefined) return undefined;
    if (isLongToConvert(name)) return isWeb ? endConverted(name) : undefined;
  }
  let host: string | undefined;
  try {
    host = new URL(`http://${authority.length > MAX_IPV6 ? authority : bracketed(authority)}/`).hostname;
  } catch {
    host = rawPunycode(authority);
    if (host === undefined) return undefined;
  }
  if (host.startsWith('[')) return withoutMapping(host);
  if (host.endsWith('.') && host.length > 1) host = host.slice(0, -1);
  return isWeb || (host.length <= MAX_NAME_LENGTH && BARE_LABELS.test(host)) ? host : undefined;
};

const bracketed = (authority: string): string => {
  const address = authority.includes('%') ? authority.replace(ZONE, '$1$2') : authority;
  return BARE_IPV6.test(address) ? `[${address}]` : address;
};

const MAPPED = /^\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\]$/;

/** An IPv4 address that is mapped into IPv6 leads to the same machine as the address itself. */
const withoutMapping = (host: string): string => {
  const [, high, low] = MAPPED.exec(host) ?? [];
  if (high === undefined || low === undefined) return host;
  const [first, second] = [Number.parseInt(high, 16), Number.parseInt(low, 16)];
  return `${first >> 8}.${first & 0xff}.${second >> 8}.${second & 0xff}`;
};

/** @returns undefined where the URL parser refuses the host as well: its codes are broken, or stand for no UTF-8 */
const unescaped = (authority: string): string | undefined => {
  try {
    return decodeURIComponent(authority);
  } catch {
    return undefined;
  }
};

/** Characters that vanish from a name; the two joiners do not. */
const IGNORED = /(?:(?![\u200c\u200d])\p{Default_Ignorable_Code_Point})+/gu;
const ASCII = /[\0-\x7f]+/g;
const DOTS = /[.\u3002\uff0e\uff61]/;
const WIDE_DOTS = /[\u3002\uff0e\uff61]/g;

/**
 * Whether the parser would be long about the name, since letters are coded and marks put in order in the square of their
 * number. A name that DNS can hold is shorter, unless its letters are taken apart.
 */
const isLongToConvert = (name: string): boolean => {
  const letters = name.replace(IGNORED, '');
  if (letters.replace(ASCII, '').length > MAX_NAME_LENGTH) return true;
  let work = 0;
  for (const label of letters.split(DOTS)) work += new Set(label.replace(ASCII, '')).size * label.length;
  return work > MAX_WORK;
};

/** What the parser finds in no name, or takes for a number. */
const NO_NAME = /[\0-\x20#%/:<>?@[\\\]^|\x7f]|\p{Cs}/u;
const NUMBER = /^(?:\d+|0x[\da-f]*)\.?$/;

/** A name as it was sent but for its last labels, so that it is under the domains that it would be under. */
const endConverted = (name: string): string | undefined => {
  const host = name
    .replace(/:\d{0,5}$/, '')
    .replace(WIDE_DOTS, '.')
    .toLowerCase();
  if (NO_NAME.test(host) || NUMBER.test(host.slice(host.lastIndexOf('.', host.length - 2) + 1))) return undefined;
  const end = host.indexOf('.', host.length - 2 * MAX_LABEL_LENGTH) + 1;
  if (end === 0) return host;
  try {
    return host.slice(0, end) + new URL(`http://${host.slice(end)}/`).hostname;
  } catch {
    return undefined;
  }
};

/** The query of what follows an authority. */
export const queryOf = (rest: string): URLSearchParams => {
  const [beforeFragment = ''] = rest.split('#', 1);
  const start = beforeFragment.indexOf('?');
  return new URLSearchParams(start === -1 ? '' : unwrap(beforeFragment.slice(start)));
};

/**
 * The path of what follows an authority: dot segments resolved, percent codes in one form, no query, no fragment, no
 * final slash; '' for the root. Letter case counts.
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
 * A code that stands for a letter, digit or one of `-._~` is that character (RFC 3986, 6.2.2.2); so is an `@`. Others
 * are in capital letters. What is in order already does not match, since a path may have thousands.
 */
const CODE = /%(?:(2[DEde]|3\d|4[\dA-Fa-f]|5[\dAFaf]|6[1-9A-Fa-f]|7[\dAEae])|[a-f][\dA-Fa-f]|[\dA-F][a-f])/g;
const normalCode = (code: string, plain: string | undefined): string =>
  plain === undefined ? code.toUpperCase() : CHARACTERS.get(plain)!;
/** By two digits as they may be written, since to convert thousands of them would cost. */
const CHARACTERS: ReadonlyMap<string, string> = new Map(
  Array.from({ length: 128 }, (_, code) => code.toString(16).padStart(2, '0')).flatMap((digits) => {
    const character = String.fromCharCode(Number.parseInt(digits, 16));
    return [
      [digits, character],
      [digits.toUpperCase(), character],
    ];
  }),
);

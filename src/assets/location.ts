/** Where on the web a text points: a host, and what follows it. */
export interface Location {
  /** Lower-case, punycode, without a final dot; an IPv6 address in brackets. At least two labels unless `named`. */
  readonly host: string;
  /** Whether the host is a name of DNS rather than an IP address. */
  readonly isName: boolean;
  /** Lower-case and without the colon; '' where the text had none. */
  readonly scheme: string;
  /** What follows the authority, as it was sent: path, query and fragment. */
  readonly rest: string;
}

/** The longest name DNS can hold. */
const LONGEST_NAME = 253;
/** Longer authorities cannot be a host any more; converting them to punycode would cost milliseconds. */
const LONGEST_AUTHORITY = { ascii: 1_024, unicode: 512 };

const DEFANGED = /[[\](){}]|^h(?!tt)/i;
const SCHEME = /^([a-z][a-z0-9+.-]{0,63}):[\\/]{2}/i;
const WEB_SCHEME = /^(https?|wss?|ftp):[\\/]*/i;
/** A host that is already as this service writes hosts: anything else goes through the URL parser. */
const PLAIN = /^(?:(https?):\/\/)?([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.[a-z][a-z0-9-]*)(?=\/|$)/;
/** A path in its only form: no dot segments, nothing to escape. The slashes at its end are few, so cutting is cheap. */
const PLAIN_PATH = /^(?:\/[A-Za-z0-9\-_~@]+)+\/?$/;
/** The URL parser takes more signs than a name of DNS has, `*` among them. */
const LABELS = /^(?!-)[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*$/;

/** Text written so that nobody clicks it by accident, as it was meant: `hxxps[:]//evil[.]example`. */
export const refang = (text: string): string => {
  if (!DEFANGED.test(text)) return text;
  return text
    .replace(/^h[tx*_]{2}p(s?)(?=:|\[|\(|\{)/i, (_, s: string) => `http${s}`)
    .replace(/\[:\/\/\]/g, '://')
    .replace(/[[({](\.|dot|:|\/|@|at)[\])}]/gi, (_, sign: string) => SIGNS[sign.toLowerCase()] ?? sign)
    .replace(/\[\.|\.\]/g, '.');
};

const SIGNS: Record<string, string> = { dot: '.', at: '@' };

/**
 * Reads what is already written as hosts are written here, which most content is, without a look at anything else.
 * @returns undefined where `locate` has to look
 */
export const locatePlain = (text: string): Location | undefined => {
  const found = PLAIN.exec(text);
  if (found === null) return undefined;
  const host = found[2]!;
  if (host.length > LONGEST_NAME || !LABELS.test(host)) return undefined;
  return { host, isName: true, scheme: found[1] ?? '', rest: text.slice(found[0].length) };
};

/** @returns undefined where the text names no host that could exist */
export const locate = (text: string): Location | undefined => {
  const plain = locatePlain(text);
  if (plain !== undefined) return plain;
  const web = WEB_SCHEME.exec(text) ?? SCHEME.exec(text);
  const scheme = web ? web[1]!.toLowerCase() : '';
  let from = web ? web[0].length : 0;
  if (!web && (text.startsWith('//') || text.startsWith('\\\\'))) from = 2;
  const address = from === 0 ? text : text.slice(from);

  const end = address.search(/[/\\?#]/);
  const authority = end === -1 ? address : address.slice(0, end);
  const rest = end === -1 ? '' : address.slice(end);
  if (authority === '' || isTooLong(authority) || /[\s<>"]/.test(authority)) return undefined;
  const host = hostOf(authority);
  if (host === undefined) return undefined;
  return { host, isName: !host.startsWith('[') && !/\.\d+$/.test(host), scheme, rest };
};

const isTooLong = (authority: string): boolean =>
  authority.length > LONGEST_AUTHORITY.unicode &&
  (authority.length > LONGEST_AUTHORITY.ascii || /[^\0-\x7f]/.test(authority));

const ASCII_NAME = /^(?:[^@]*@)?([a-z0-9_.-]+)(?::(\d*))?$/i;

/**
 * A name with a label in punycode that the platform's parser does not take. Its versions do not agree on which labels
 * are in order, and a key must not depend on that; so what is ASCII already stays as it is.
 */
const unreadPunycode = (authority: string): string | undefined => {
  const [, name = '', port = ''] = ASCII_NAME.exec(authority) ?? [];
  const isOne = /xn--/i.test(name) && /\.[a-z][^.]*\.?$/i.test(name) && Number(port) <= 65_535;
  return isOne ? name.toLowerCase() : undefined;
};

/** An IPv6 address with a zone (`fe80::1%eth0`, in a URL `[fe80::1%25eth0]`), which names a card of the machine only. */
const ZONE = /^(\[?[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*)%[\w.~%-]{1,64}(\]?(?::\d{1,5})?)$/i;

const hostOf = (given: string): string | undefined => {
  const authority = given.includes('%') ? given.replace(ZONE, '$1$2') : given;
  const bare = /^[0-9a-f]*:[0-9a-f:.]*:[0-9a-f:.]*$/i.test(authority) ? `[${authority}]` : authority;
  let host: string | undefined;
  try {
    host = new URL(`http://${bare}/`).hostname;
  } catch {
    host = unreadPunycode(authority);
    if (host === undefined) return undefined;
  }
  if (host.endsWith('.')) host = host.slice(0, -1);
  return host.startsWith('[') || (host.length <= LONGEST_NAME && LABELS.test(host)) ? host : undefined;
};

/**
 * The path of what follows an authority: dot segments resolved, percent codes in one form, no query, no fragment, no
 * final slash; '' for the root. Letter case counts.
 */
export const pathOf = (rest: string): string => {
  if (rest === '' || rest === '/') return '';
  if (PLAIN_PATH.test(rest)) return rest.replace(/\/+$/, '');
  const { pathname } = new URL(/^[/\\]/.test(rest) ? `http://h${rest}` : `http://h/${rest}`);
  const path = pathname.includes('%') ? pathname.replace(/%[0-9a-f]{2}/gi, normalEscape) : pathname;
  let end = path.length;
  while (end > 0 && path.charCodeAt(end - 1) === 0x2f) end--;
  return path.slice(0, end);
};

/** A code that stands for a letter, digit or one of `-._~` is that character (RFC 3986, 6.2.2.2); so is an `@`. */
const normalEscape = (code: string): string => {
  const character = String.fromCharCode(Number.parseInt(code.slice(1), 16));
  return /[A-Za-z0-9\-._~@]/.test(character) ? character : code.toUpperCase();
};

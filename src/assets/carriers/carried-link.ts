import { isInternalHost } from '../ip-address.js';
import { locateWeb } from '../link.js';
import { endOfPath, lastTwoLabels, type Location, trimLikeUrlParser } from '../location.js';
import { decodeOnce, searchOnce } from '../copied-text.js';
import { isEqual } from '../profiles/site.js';
import { CARRIERS, LOGIN_MODE, LOGIN_PAGE, RETURN_PARAMETER } from './carrier-table.js';
import { ENCODINGS, proxiedLinks, withScheme } from './encodings.js';

interface Form {
  /** Segments of the path in lower case; `*` matches any segment. */
  readonly segments: readonly string[];
  /** Whether any path, also none, carries the link and nothing else. */
  readonly isInAnyPath: boolean;
  /** Name of the parameter in lower case; '' for the whole query; undefined if the link follows the path. */
  readonly parameter: string | undefined;
  readonly inFragment: boolean;
  /** What stands in the fragment before the parameter, and names no page; '' for nothing. */
  readonly route: string;
  readonly encoding: string;
}

const FORM = /^([^?#{]*)(?:#([^?{]*))?(?:\?([^={]*)=?)?\{(\w+)\}$/;

const ANY_PATH = '...';

const parseForm = (text: string): Form => {
  const [, path = '', route, parameter, encoding = 'link'] = FORM.exec(text)!;
  const isInAnyPath = path === ANY_PATH;
  return {
    segments: isInAnyPath ? [] : path.split('/').filter((segment) => segment !== ''),
    isInAnyPath,
    parameter,
    inFragment: route !== undefined,
    route: route ?? '',
    encoding,
  };
};

const BY_HOST_OR_SCHEME = new Map<string, readonly Form[]>();
/** The domains of the entries `*.HOST`, reduced to their last two labels. */
const WILDCARD_DOMAINS = new Set<string>();

for (const line of CARRIERS.trim().split('\n')) {
  const words = line.split(' // ', 1)[0]!.trim().split(' ');
  const forms = words.filter((word) => word.includes('{')).map(parseForm);
  for (const word of words) {
    if (word.includes('{')) continue;
    BY_HOST_OR_SCHEME.set(word, [...(BY_HOST_OR_SCHEME.get(word) ?? []), ...forms]);
    if (word.startsWith('*.')) WILDCARD_DOMAINS.add(lastTwoLabels(word));
  }
}

const GOOGLE = /^(?:[a-z]{1,16}\.)?google\.(?:com?\.)?[a-z]{2,3}$/;

const formsOf = (host: string): readonly Form[] | undefined => {
  const exact = BY_HOST_OR_SCHEME.get(host) ?? BY_HOST_OR_SCHEME.get(host.replace(/^(?:www|m|mobile)\./, ''));
  if (exact !== undefined) return exact;
  if (host.includes('google.') && GOOGLE.test(host)) return BY_HOST_OR_SCHEME.get('google.com');
  if (!WILDCARD_DOMAINS.has(lastTwoLabels(host))) return undefined;
  for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
    const forms = BY_HOST_OR_SCHEME.get(`*${host.slice(dot)}`);
    if (forms !== undefined) return forms;
  }
  return undefined;
};

/** Whether a host, or some links on it, carry links to other hosts. */
export const isCarrier = (host: string): boolean => formsOf(host) !== undefined;

/** The hosts, or domains above the hosts, on which links carry links; except those of Google. */
export const carrierHosts = (): string[] =>
  Array.from(BY_HOST_OR_SCHEME.keys(), (name) => name.replace(/^\*\./, '')).filter((name) => name.includes('.'));

/** The links that a link carries. */
export interface CarriedLinks {
  /** The links that may be opened. If there are several, it is unknown which of them is opened. */
  readonly links: readonly string[];
  /** Whether `links` has everything that may be opened. */
  readonly isUnderstood: boolean;
  /** Whether only the hosts of the links are known. */
  readonly isHostOnly?: boolean;
  /** Whether the carrier may show a page of its own instead, which its path or its fragment names. */
  readonly hasOwnPage?: boolean;
}

const NO_LINKS: readonly string[] = [];
/** The result for a carrier without a link. */
const NO_LINK: CarriedLinks = { links: [], isUnderstood: false };

/** The `*` before a link stands for an identifier or a time. What this matches is rather the host of the link. */
const IS_HOST = /\.(?:[a-z]{2,63}|xn--[\w-]+)$/i;
/** Slashes and segments of a single dot. */
const SLASHES = /(?:[/\\]|\.(?=[/\\]|$))*/y;

/**
 * Returns the position in the path behind the segments of a form; undefined if the path has other segments. The path is
 * compared as sent, so that a carried link is never longer than its carrier.
 */
const endOfSegments = (segments: readonly string[], path: string): number | undefined => {
  let at = 0;
  const skipSlashes = (): void => {
    SLASHES.lastIndex = at;
    at += SLASHES.exec(path)![0].length;
  };
  for (const [index, segment] of segments.entries()) {
    skipSlashes();
    const length = path.slice(at).search(/[/\\]/);
    const end = length === -1 ? path.length : at + length;
    if (at === end) return undefined;
    const sent = path.slice(at, end);
    // A percent escape has three characters.
    const canBeEqual = sent.length <= 3 * segment.length;
    const isAnything = segment === '*' && !(index === segments.length - 1 && IS_HOST.test(sent));
    if (!isAnything && !(canBeEqual && decodeOnce(sent).toLowerCase() === segment)) return undefined;
    at = end;
  }
  skipSlashes();
  return at;
};

/** A parameter of a link. Only the values that may be links are decoded, because decoding takes most of the time. */
interface Parameter {
  readonly name: string;
  readonly sent: string;
}

const parametersIn = (query: string): readonly Parameter[] => {
  const isEncoded = hasEscape(query);
  return trimLikeUrlParser(query)
    .split('&')
    .map((sent) => {
      const end = sent.indexOf('=');
      const name = end === -1 ? sent : sent.slice(0, end);
      return { name: isEncoded ? decodeParameter(`=${name}`) : name, sent };
    });
};

/** An escape of a parameter: a percent code, or a plus sign for a blank. */
const hasEscape = searchOnce(/%[\da-f]{2}|\+/i);
/** Decodes the value of a parameter like `URLSearchParams`. */
const decodeParameter = (sent: string): string => {
  const value = sent.slice(sent.indexOf('=') + 1);
  return hasEscape(value) ? new URLSearchParams(`=${value}`).get('')! : value.toWellFormed();
};

/** A target without a host, which opens a page of the carrier. */
const ON_THE_SAME_HOST = /^[\\/](?![\\/])/;

const valuesOf = (parameters: readonly Parameter[], wanted: string): readonly string[] => {
  const values: string[] = [];
  for (const { name, sent } of parameters) {
    if (!isEqual(name, wanted)) continue;
    const value = sent.includes('=') ? trimLikeUrlParser(decodeParameter(sent)) : '';
    if (value !== '' && !ON_THE_SAME_HOST.test(value)) values.push(value);
  }
  return values;
};

/** A dot or colon separates a link from a command of the app. A number is an IPv4 address. */
const MAY_BE_LINK = /[.:%]|^(?:\d+|0x[0-9a-f]+)(?:[/?#]|$)/i;

/** A segment of a path in which slashes are percent-encoded. */
const ENCODED_SEGMENT = /^[^/\\]*%(?:25)*2f[^/\\]*/i;

interface Parts {
  readonly path: string;
  /** Query and fragment. */
  readonly end: string;
  /** The parameters of the query, and of the fragment. */
  readonly query: () => readonly Parameter[];
  readonly fragment: () => readonly Parameter[];
}

const NO_PARAMETERS: readonly Parameter[] = [];
const once = <T>(compute: () => T): (() => T) => {
  let result: T | undefined;
  return () => (result ??= compute());
};

/** A line break, or a segment of one or two dots. */
const HAS_UNRESOLVED = /[\t\n\r]|(?:[/\\]|^)(?:\.|%2e){1,2}(?=[/\\]|$)/i;

/** Resolves what a browser resolves in a path before it sends it. The path never becomes longer. */
const resolved = (path: string): string => {
  if (!HAS_UNRESOLVED.test(path)) return path;
  const kept: string[] = [];
  for (const segment of path.replace(/[\t\n\r]+/g, '').split(/[/\\]/)) {
    const dots = segment.replace(/%2e/gi, '.');
    if (dots !== '.' && dots !== '..') kept.push(segment);
    else if (dots === '..' && kept.length > 1) kept.pop();
  }
  return kept.join('/');
};

const partsOf = (rest: string): Parts => {
  const start = endOfPath(rest);
  const end = rest.slice(start);
  const hash = end.indexOf('#');
  return {
    path: resolved(rest.slice(0, start)),
    end,
    query: once(() =>
      end.startsWith('?') ? parametersIn(hash === -1 ? end.slice(1) : end.slice(1, hash)) : NO_PARAMETERS,
    ),
    fragment: once(() => (hash === -1 ? NO_PARAMETERS : parametersIn(end.slice(hash + 1).replace(/^[^?]*\?/, '')))),
  };
};

/** What stands in a fragment before its parameters. */
const routeOf = (end: string): string => /#[!/]*([^?]*)/.exec(end)?.[1] ?? '';

/** Returns undefined if the form does not match. */
const matchForm = (form: Form, { path, end, query, fragment }: Parts): CarriedLinks | undefined => {
  const at = endOfSegments(form.segments, path);
  if (at === undefined) return undefined;
  const decode = ENCODINGS[form.encoding]!;
  if (form.parameter === undefined) {
    const left = path.slice(at);
    if (form.encoding !== 'link' && form.encoding !== 'segment')
      return left === '' ? undefined : decoded([trimLikeUrlParser(left + end)], form);
    const rest = form.encoding === 'segment' ? (ENCODED_SEGMENT.exec(left)?.[0] ?? left) : left;
    // What follows the segment with the link belongs to the carrier.
    const behind = rest === left ? end : '';
    if (!MAY_BE_LINK.test(rest)) return undefined;
    // A link that is percent-encoded as a whole has its own query, and the query behind it belongs to the carrier.
    const percent = rest.indexOf('%');
    const isEncoded = percent !== -1 && !rest.slice(0, percent).includes('/');
    const link = isEncoded ? decodeOnce(rest) : rest;
    const links = decode(isEncoded && link.includes('?') ? link : link + behind);
    // Undecoded, the text before the @ is a user.
    return isEncoded && rest.includes('@')
      ? { links: [...links, ...decode(rest + behind)], isUnderstood: false }
      : { links, isUnderstood: true };
  }
  if (form.parameter === '') {
    const text = end.startsWith('?') ? decodeOnce(end.slice(1)) : '';
    return MAY_BE_LINK.test(text) ? { links: [withScheme(text)], isUnderstood: true } : undefined;
  }
  const values = valuesOf(form.inFragment ? fragment() : query(), form.parameter);
  // A path that only carries links, without a link, is a link that cannot be read.
  if (values.length === 0)
    return form.segments.length === 0 || form.inFragment || at < path.length ? undefined : NO_LINK;
  const namesPage =
    !form.isInAnyPath &&
    ((form.segments.length === 0 && at < path.length) || (form.inFragment && routeOf(end) !== form.route));
  return namesPage ? { ...decoded(values, form), hasOwnPage: true } : decoded(values, form);
};

const decoded = (texts: readonly string[], { encoding }: Form): CarriedLinks => {
  const decode = ENCODINGS[encoding]!;
  const links = texts.map(decode);
  return {
    links: links.flat(),
    isUnderstood: links.every(({ length }) => length > 0),
    isHostOnly: encoding === 'domain',
  };
};

/**
 * Returns the links that a known carrier opens.
 * @param hostOrScheme a host, or the scheme of an app including the colon
 * @param rest path, query and fragment, as in `Location`
 * @returns undefined if the link carries no link
 */
export const carriedLinks = (hostOrScheme: string, rest: string): CarriedLinks | undefined => {
  const proxied = proxiedLinks(hostOrScheme, rest);
  if (proxied !== undefined) return { links: proxied, isUnderstood: proxied.length > 0 };
  const forms = rest === '' || rest === '/' ? undefined : formsOf(hostOrScheme);
  if (forms === undefined) return undefined;
  const parts = partsOf(rest);
  let links: readonly string[] = NO_LINKS;
  let isCarrier = false;
  let isPath = false;
  let isUnderstood = true;
  let isHostOnly = false;
  let isPage = false;
  let isOfCarrier = false;
  for (const form of forms) {
    // A path that ends in a link is read only if no other form has a link, and then no other form is read.
    if (links.length > 0 && (form.parameter === undefined || isPath)) continue;
    const match = matchForm(form, parts);
    if (match === undefined) continue;
    isCarrier = true;
    isPath = form.parameter === undefined;
    links = links.length === 0 ? match.links : [...links, ...match.links];
    if (match !== NO_LINK && !match.isUnderstood) isUnderstood = false;
    if (match.isHostOnly === true) isHostOnly = true;
    if (match.hasOwnPage === true) isPage = true;
    else isOfCarrier = true;
  }
  if (!isCarrier) return undefined;
  if (links.length > 1) links = [...new Set(links)];
  // A path that another form reads is no page.
  const hasOwnPage = isPage && !isOfCarrier;
  return { links, isUnderstood: isUnderstood && links.length === 1 && !hasOwnPage, isHostOnly, hasOwnPage };
};

/** Adds the parameters that the parameter `sso` of a provider of Discourse carries in base64. */
const withEncoded = (one: Parameter): readonly Parameter[] =>
  isEqual(one.name, 'sso')
    ? [one, ...parametersIn(Buffer.from(decodeParameter(one.sent), 'base64').toString())]
    : [one];

/** The longest part of a link, after its host, that is compared with `LOGIN_PAGE` and `LOGIN_MODE`. */
const MAX_LOGIN_PAGE_LENGTH = 512;

const isLogin = ({ host, rest }: Location, path: string): boolean => {
  const start = rest.slice(0, MAX_LOGIN_PAGE_LENGTH);
  return LOGIN_PAGE.test(host + start.slice(0, path.length)) || LOGIN_MODE.test(start);
};
const namesReturn = ({ name }: Parameter): boolean => RETURN_PARAMETER.test(name.replace(/[_.-]/g, '').toLowerCase());

/**
 * Returns the links to other hosts that a page of a log-in opens afterwards (`redirect_uri`, `continue`). Paths, hosts
 * without a scheme, apps and hosts of the machine itself are no such links.
 */
export const returnLinks = (location: Location): readonly string[] => {
  const { host, rest } = location;
  if (!rest.includes('?')) return NO_LINKS;
  const { path, query } = partsOf(rest);
  if (!isLogin(location, path)) return NO_LINKS;
  const links = new Set<string>();
  for (const { sent } of query().flatMap(withEncoded).filter(namesReturn)) {
    const value = decodeParameter(sent);
    const text = trimLikeUrlParser(/^https?%/i.test(value) ? decodeOnce(value) : value);
    const link = /^[\\/]{2}/.test(text) ? `https:${text}` : text;
    const target = locateWeb(link);
    if (target !== undefined && target.host !== host && !isInternalHost(target.host, target.isName)) links.add(link);
  }
  return [...links];
};

/** Returns a pattern for a text, each of whose characters may be percent-encoded several times. */
const escapable = (text: string): string =>
  text.replace(/./g, (sign) => {
    const codes = [sign, sign.toUpperCase()].map((one) => one.charCodeAt(0).toString(16));
    return `(?:${sign}|%(?:25){0,3}(?:${codes.join('|')}))`;
  });
/**
 * Matches an absolute web link, a value that begins with two slashes, and a value that pairs a wallet (`wc:`), all of
 * them percent-encoded or not.
 */
export const HELD_LINK = new RegExp(
  `${escapable('http')}${escapable('s')}?${escapable(':')}|=(?:[\\\\/]|%(?:25){0,3}(?:2f|5c)){2}|(?:^|[^\\w]|%[\\da-f]{2})${escapable('wc:')}`,
  'i',
);

/**
 * Whether a web address that carries no link by the tables of carriers and log-ins holds one, in whatever place. The
 * host may open that link, show it, or only count it.
 */
export const holdsUnreadLink = (location: Location): boolean => {
  const { rest } = location;
  if (!HELD_LINK.test(rest)) return false;
  const { path, end, query } = partsOf(rest);
  const fragment = end.includes('#') ? end.slice(end.indexOf('#')) : '';
  const unread = (one: Parameter): boolean => HELD_LINK.test(`=${one.sent}`) && !namesReturn(one);
  return !isLogin(location, path) || HELD_LINK.test(path) || HELD_LINK.test(fragment) || query().some(unread);
};

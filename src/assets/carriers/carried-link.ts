import { isInternalHost } from '../internal-host.js';
import { locateWeb } from '../link.js';
import { type Location, queryOf, trimLikeUrlParser } from '../location.js';
import { decodeOnce } from '../text/percent.js';
import { CARRIERS, LOGIN_PAGE, RETURN_PARAMETER } from './carrier-table.js';
import { ENCODINGS, PARTIAL_ENCODINGS, translatedHost, withScheme } from './encodings.js';

interface Form {
  /** Segments of the path in lower case; `*` matches any segment. */
  readonly segments: readonly string[];
  /** Name of the parameter in lower case; '' for the whole query; undefined if the link follows the path. */
  readonly parameter: string | undefined;
  readonly inFragment: boolean;
  readonly encoding: string;
}

const FORM = /^([^?#{]*)(#?)(?:\?([^={]*)=?)?\{(\w+)\}$/;

const parseForm = (text: string): Form => {
  const [, path = '', hash, parameter, encoding = 'link'] = FORM.exec(text)!;
  return {
    segments: path.split('/').filter((segment) => segment !== ''),
    parameter,
    inFragment: hash === '#',
    encoding,
  };
};

const BY_HOST_OR_SCHEME = new Map<string, readonly Form[]>();
/** The domains of the entries `*.HOST`, reduced to their last two labels. */
const WILDCARD_DOMAINS = new Set<string>();
const lastTwoLabels = (host: string): string => host.slice(host.lastIndexOf('.', host.lastIndexOf('.') - 1) + 1);

for (const line of CARRIERS.trim().split('\n')) {
  const words = line.trim().split(' ');
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

/** The links that a link carries. */
export interface CarriedLinks {
  /** The links that may be opened. If there are several, it is unknown which of them is opened. */
  readonly links: readonly string[];
  /** Whether `links` has everything that may be opened. */
  readonly isUnderstood: boolean;
}

/** The result for a carrier without a link. */
const NO_LINK: CarriedLinks = { links: [], isUnderstood: false };

/**
 * Returns the position in the path behind the segments of a form; undefined if the path has other segments. The path is
 * compared as sent, so that a carried link is never longer than its carrier.
 */
const endOfSegments = (segments: readonly string[], path: string): number | undefined => {
  let at = 0;
  const skipSlashes = (): void => {
    while (/[/\\]/.test(path[at] ?? '') || /^\.(?:[/\\]|$)/.test(path.slice(at, at + 2))) at += 1;
  };
  for (const segment of segments) {
    skipSlashes();
    const length = path.slice(at).search(/[/\\]/);
    const end = length === -1 ? path.length : at + length;
    if (at === end) return undefined;
    // A percent escape has three characters.
    const canBeEqual = end - at <= 3 * segment.length;
    if (segment !== '*' && !(canBeEqual && decodeOnce(path.slice(at, end)).toLowerCase() === segment)) return undefined;
    at = end;
  }
  skipSlashes();
  return at;
};

/** Returns the values of a parameter, ignoring the case of its name. */
const valuesOf = (query: URLSearchParams, wanted: string): readonly string[] => {
  const values: string[] = [];
  for (const [name, value] of query) if (name.toLowerCase() === wanted && value !== '') values.push(value);
  return values;
};

/** A dot or colon separates a link from a command of the app. A number is an IPv4 address. */
const MAY_BE_LINK = /[.:%]|^(?:\d+|0x[0-9a-f]+)(?:[/?#]|$)/i;

interface Parts {
  readonly path: string;
  /** Query and fragment. */
  readonly end: string;
  readonly query: () => URLSearchParams;
  readonly fragment: () => URLSearchParams;
}

const partsOf = (rest: string): Parts => {
  const query = rest.search(/[?#]/);
  const end = query === -1 ? '' : rest.slice(query);
  const hash = rest.indexOf('#');
  return {
    path: query === -1 ? rest : rest.slice(0, query),
    end,
    query: () => queryOf(rest),
    fragment: () => new URLSearchParams(hash === -1 ? '' : rest.slice(hash + 1).replace(/^[^?]*\?/, '')),
  };
};

/** Returns undefined if the form does not match. */
const matchForm = (form: Form, { path, end, query, fragment }: Parts): CarriedLinks | undefined => {
  const at = endOfSegments(form.segments, path);
  if (at === undefined) return undefined;
  const decode = ENCODINGS[form.encoding]!;
  if (form.parameter === undefined) {
    const rest = path.slice(at);
    if (form.encoding !== 'link') return rest === '' ? undefined : decoded([rest + end], form);
    if (!MAY_BE_LINK.test(rest)) return undefined;
    // A link that is percent-encoded as a whole has its own query, and the query behind it belongs to the carrier.
    const isEncoded = rest.split('/', 1)[0]!.includes('%');
    const link = isEncoded ? decodeOnce(rest) : rest;
    const links = decode(isEncoded && link.includes('?') ? link : link + end);
    // Undecoded, the text before the @ is a user.
    return isEncoded && rest.includes('@')
      ? { links: [...links, ...decode(rest + end)], isUnderstood: false }
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
  return decoded(values, form);
};

const decoded = (texts: readonly string[], { encoding }: Form): CarriedLinks => {
  const decode = ENCODINGS[encoding]!;
  const links = texts.map((text) => decode(trimLikeUrlParser(text)));
  return {
    links: [...new Set(links.flat())],
    isUnderstood: !PARTIAL_ENCODINGS.has(encoding) && links.every(({ length }) => length > 0),
  };
};

/**
 * Returns the links that a known carrier opens.
 * @param hostOrScheme a host, or the scheme of an app including the colon
 * @param rest path, query and fragment, as in `Location`
 * @returns undefined if the link carries no link
 */
export const carriedLinks = (hostOrScheme: string, rest: string): CarriedLinks | undefined => {
  const translated = translatedHost(hostOrScheme);
  if (translated !== undefined) return { links: [`https://${translated}${rest}`], isUnderstood: true };
  const forms = rest === '' || rest === '/' ? undefined : formsOf(hostOrScheme);
  if (forms === undefined) return undefined;
  const parts = partsOf(rest);
  const links = new Set<string>();
  let isCarrier = false;
  let isPath = false;
  let isUnderstood = true;
  for (const form of forms) {
    // A path that ends in a link is read only if no other form has a link, and then no other form is read.
    if (links.size > 0 && (form.parameter === undefined || isPath)) continue;
    const match = matchForm(form, parts);
    if (match === undefined) continue;
    isCarrier = true;
    isPath = form.parameter === undefined;
    for (const link of match.links) links.add(link);
    if (match !== NO_LINK && !match.isUnderstood) isUnderstood = false;
  }
  if (!isCarrier) return undefined;
  return { links: [...links], isUnderstood: isUnderstood && links.size === 1 };
};

/** The longest host and path that are compared with `LOGIN_PAGE`. */
const MAX_LOGIN_PAGE_LENGTH = 512;
const NO_LINKS: readonly string[] = [];

/**
 * Returns the links to other hosts that a page of a log-in opens afterwards (`redirect_uri`, `continue`). Paths, hosts
 * without a scheme, apps and hosts of the machine itself are no such links.
 */
export const returnLinks = ({ host, rest }: Location): readonly string[] => {
  const start = rest.indexOf('?');
  if (start === -1 || !LOGIN_PAGE.test((host + rest.slice(0, start)).slice(0, MAX_LOGIN_PAGE_LENGTH))) return NO_LINKS;
  const links = new Set<string>();
  for (const [name, value] of queryOf(rest)) {
    if (value.length < 4 || !RETURN_PARAMETER.test(name.toLowerCase().replace(/[_.-]/g, ''))) continue;
    const text = trimLikeUrlParser(/^https?%/i.test(value) ? decodeOnce(value) : value);
    const link = /^[\\/]{2}/.test(text) ? `https:${text}` : text;
    const target = locateWeb(link);
    if (target !== undefined && target.host !== host && !isInternalHost(target.host, target.isName)) links.add(link);
  }
  return [...links];
};

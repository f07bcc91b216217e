import { trimLikeUrlParser } from '../location.js';
import { decodeOnce } from '../copied-text.js';
import { isEqual } from '../profiles/site.js';
import { type Form, formsOf } from './carrier-forms.js';
import { ENCODINGS, proxiedLinks, withScheme } from './encodings.js';
import { decodeParameter, type Parameter, type Parts, partsOf } from './link-parts.js';

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

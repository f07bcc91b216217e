import { pathOf, refang } from '../location.js';
import { decodeOnce } from '../copied-text.js';
import { isEqual } from '../profiles/site.js';
import { HELD_LINK } from '../carriers/held-links.js';
import { TRACKING_PARAMETERS } from './publishing-hosts.js';

/** A page. On a host where many people publish, the name is equal for all links to the page. */
export interface Page {
  /** Host, path, and on a host where many people publish also parameters and fragment. */
  readonly name: string;
  /** The number of characters of `name` that are host and path of the shortest parent page. */
  readonly root: number;
  /** Whether somebody else than the owner of the host may have published the page. */
  readonly isShared: boolean;
  /** The names of other pages that the link may open, because it repeats a parameter. */
  readonly others: readonly string[];
  /** The names of the pages above a page that a parameter names, although the page belongs to the host. */
  readonly above?: readonly string[];
  /** Whether the page is a request of OAuth or OpenID, which names its client. */
  readonly isRequest?: boolean;
}

export const NO_OTHERS: readonly string[] = [];

/** How the links to a page name it. */
export interface Pattern {
  readonly segments: readonly string[];
  readonly parameters: readonly { readonly name: string; readonly isInAnyCase: boolean }[];
  /** Whether any fragment is the end of the name, and a link without one does not match. */
  readonly hasFragments: boolean;
  /** The host of the name. */
  readonly host: string;
  /** The name after the host, with a `{}` for each part of the name. */
  readonly template: string;
}

const PLACEHOLDER = /\{(?:hex|any-case|\.\.\.)?\}/g;
/** A part of a name whose letter case does not count. */
const ANY_CASE = '{any-case}';
/** The segment before the command of an app link, where a web link has a name. */
const BEFORE_COMMAND = '-';
const HEX = /^(?:0x)?[0-9a-f]{8,64}$/i;
/** The end of a pattern whose pages a fragment names. */
const FRAGMENT = '#{}';

/** @param host the host of the names, if the pattern has none of its own */
export const parsePattern = (host: string, text: string): Pattern => {
  const [whole = '', name] = text.split('>');
  const hasFragments = whole.endsWith(FRAGMENT);
  const pattern = hasFragments ? whole.slice(0, -FRAGMENT.length) : whole;
  const [path = '', query = ''] = pattern.split('?');
  const own = pattern.replace(/(?<=^|\/)\*(?:\/|$)/g, '').replace(PLACEHOLDER, '{}');
  const [, otherHost = host, template = name ?? own] = /^\/\/([^/]+)\/(.*)$/.exec(name ?? '') ?? [];
  return {
    segments: path.split('/').filter((segment) => segment !== ''),
    parameters: [...new URLSearchParams(query)].map(([parameter, value]) => ({
      name: parameter,
      isInAnyCase: value === ANY_CASE,
    })),
    hasFragments,
    host: otherHost,
    template: template.replace(PLACEHOLDER, '{}'),
  };
};

/** Maximum number of pages between which a link with repeated parameters leaves the choice. */
export const MAX_OTHERS = 3;

/** Returns the page that a pattern names; undefined if the link does not match. */
export const matchPattern = (
  { segments, parameters, host, template }: Pattern,
  actual: readonly string[],
  query: URLSearchParams,
  ignoresCase: boolean,
): Page | undefined => {
  const parts = matchSegments(segments, actual, ignoresCase);
  if (parts === undefined) return undefined;
  const values = parameters.map(({ name, isInAnyCase }) => {
    const all = query.getAll(name).filter((value) => value !== '');
    return [...new Set(isInAnyCase ? all.map((value) => value.toLowerCase()) : all)];
  });
  if (values.some(({ length }) => length === 0)) return undefined;
  const inPath = template.split('?', 1)[0]!.split('{}').length - 1;
  const nameWith = (choice: number): string => {
    const filled = values.map((all) => encodeURIComponent((all[choice] ?? all.at(-1)!).toWellFormed()));
    let position = 0;
    const whole = template.replaceAll('{}', () => {
      const part = parts[position];
      position += 1;
      if (part === undefined) return filled.shift()!;
      return position > inPath ? encodeURIComponent(decodeOnce(part).toWellFormed()) : part;
    });
    const [namedPath = '', ...namedQuery] = whole.split('?');
    return readableAgain([host + pathOf(`/${namedPath}`), ...namedQuery].join('?'));
  };
  const name = nameWith(0);
  const choices = Math.min(MAX_OTHERS, Math.max(1, ...values.map(({ length }) => length)));
  const others = choices === 1 ? NO_OTHERS : Array.from({ length: choices - 1 }, (_, index) => nameWith(index + 1));
  return { name, root: parameters.length === 0 ? host.length : name.length, isShared: true, others };
};

/** Returns the parts of the path that belong to the name; undefined if the path does not match. */
const matchSegments = (
  wanted: readonly string[],
  actual: readonly string[],
  ignoresCase: boolean,
): string[] | undefined => {
  // Without segments, the parameters of the root name the page.
  if (actual.length < wanted.length || (wanted.length === 0 && actual.length > 0)) return undefined;
  const parts: string[] = [];
  for (const [index, segment] of wanted.entries()) {
    const text = actual[index]!;
    if (segment === '*') continue;
    if (segment === '{...}') parts.push(actual.slice(index).join('/'));
    else if (segment === '{}') parts.push(ignoresCase ? inLowerCase(text) : text);
    else if (segment === ANY_CASE) {
      if (text === BEFORE_COMMAND) return undefined;
      parts.push(inLowerCase(text));
    } else if (segment.endsWith('{hex}')) {
      const part = segment === '{hex}' ? text : text.slice(text.lastIndexOf('-') + 1);
      if (!HEX.test(part) || (segment !== '{hex}' && part === text)) return undefined;
      parts.push(part.toLowerCase());
    } else if (!isEqual(text, segment)) return undefined;
  }
  return parts;
};

const TRACKING = new RegExp(`^(?:${TRACKING_PARAMETERS.replaceAll(' ', '|').replaceAll('*', '.*')})$`);
/** Maximum number of parameters that are sorted. A page with more parameters is named by all of them, in their order. */
const MAX_SORTED_PARAMETERS = 32;

/** Returns the parameters that may name a page, as the end of the page's name. */
export const parametersOf = (query: URLSearchParams): string => {
  if (query.size === 0) return '';
  const named =
    query.size > MAX_SORTED_PARAMETERS
      ? query
      : new URLSearchParams([...query].filter(([name, value]) => !TRACKING.test(name) || HELD_LINK.test(`=${value}`)));
  if (named !== query) named.sort();
  const text = named.toString();
  return text === '' ? '' : `?${text}`;
};

/** Returns the fragment as the end of a page's name: a route, or any fragment if `hasFragments`; otherwise ''. */
export const fragmentOf = (rest: string, hasFragments: boolean): string => {
  const start = rest.indexOf('#');
  if (start === -1 || start === rest.length - 1) return '';
  return hasFragments || /^#[!/]/.test(rest.slice(start, start + 2))
    ? new URL(`http://h/${rest.slice(start)}`).hash
    : '';
};

/** Maximum length of a path that is changed to lower case. No name of a page is longer. */
const MAX_FOLDED_LENGTH = 1_024;

/** Changes a path to lower case, except its percent escapes. */
export const inLowerCase = (path: string): string =>
  path.length > MAX_FOLDED_LENGTH
    ? path
    : path.toLowerCase().replace(/%[0-9a-f]{2}/g, (escape) => escape.toUpperCase());

/** Escapes brackets in a name that would be read as defanging marks, so that the name is read as the same page. */
export const readableAgain = (name: string): string =>
  refang(name) === name
    ? name
    : name.replace(/[[\](){}]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

import { type Location, pathOf, queryOf, refang } from '../location.js';
import { DEFAULT_SUBDOMAINS, isEqual } from '../profiles/site.js';
import { SITES } from '../profiles/sites.js';
import { decodeOnce } from '../copied-text.js';
import { HELD_LINK, holdsUnreadLink } from '../carriers/carried-link.js';
import {
  CLIENT_PARAMETERS,
  NAMING_PARAMETERS,
  NAMING_QUERY,
  PUBLISHING_HOSTS,
  REQUEST_PARAMETER,
  REQUEST_PATH,
  TRACKING_PARAMETERS,
} from './publishing-hosts.js';

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

/** A host where many people publish. */
interface PublishingHost {
  /** The host that names pages, instead of its aliases. */
  readonly name: string;
  readonly subdomains: RegExp;
  readonly ignoresCase: boolean;
  readonly hasFragments: boolean;
  /** Whether pages that no pattern names belong to the host. */
  readonly hasOwnPages: boolean;
  readonly patterns: readonly Pattern[];
}

interface Pattern {
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
const LOCALES = '|[a-z]{2}(?:-[a-z]{2,4})?';

const parsePattern = (host: string, text: string): Pattern => {
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

const BY_HOST = new Map<string, PublishingHost>();
for (const row of PUBLISHING_HOSTS.trim().split('\n')) {
  const words = row.trim().split(' ');
  const marks = new Set(words.filter((word) => word.startsWith(':')));
  const hosts = words.filter((word) => !/^[:=]|\{/.test(word));
  const aliases = words.filter((word) => word.startsWith('=')).map((word) => word.slice(1));
  const names = marks.has(':tenants') ? 'www' : `www|m|mobile${marks.has(':locales') ? LOCALES : ''}`;
  for (const host of hosts) {
    const publishingHost = {
      name: host,
      subdomains: new RegExp(`^(?:${names})$`),
      ignoresCase: marks.has(':any-case'),
      hasFragments: marks.has(':fragment'),
      hasOwnPages: marks.has(':own'),
      patterns: words.filter((word) => word.includes('{')).map((text) => parsePattern(host, text)),
    };
    for (const name of host === hosts[0] ? [host, ...aliases] : [host]) BY_HOST.set(name, publishingHost);
  }
}
const NO_PATTERNS: readonly Pattern[] = [];
const WITHOUT_ROW = { ignoresCase: false, hasFragments: false, hasOwnPages: false, patterns: NO_PATTERNS };
// The hosts of profiles are hosts where many people publish, with the subdomains that have the same profiles.
for (const { hosts, subdomains = DEFAULT_SUBDOMAINS } of SITES)
  for (const name of hosts.split(' ')) BY_HOST.set(name, { ...WITHOUT_ROW, name, ...BY_HOST.get(name), subdomains });

const publishingHostOf = (host: string): PublishingHost | undefined => {
  const exact = BY_HOST.get(host);
  if (exact !== undefined) return exact;
  const dot = host.indexOf('.');
  const above = dot === -1 ? undefined : BY_HOST.get(host.slice(dot + 1));
  return above?.subdomains.test(host.slice(0, dot)) === true ? above : undefined;
};

/** The hosts whose pages, and those on some hosts directly below, may be assets of their own. */
export const publishingHosts = (): Iterable<string> => BY_HOST.keys();

/** Whether many people publish pages on the host, so that the status of the host does not apply to a page. */
export const hostsUserPages = (host: string): boolean => publishingHostOf(host)?.hasOwnPages === false;

/** Whether some pages of the host are assets of their own. */
export const isPublishingHost = (host: string): boolean => publishingHostOf(host) !== undefined;

const NO_OTHERS: readonly string[] = [];

/**
 * Returns the page to which a link leads.
 * @param path the result of `pathOf`
 * @returns undefined if the link leads to the host itself
 */
export const pageOf = ({ host, rest }: Location, path = pathOf(rest)): Page | undefined => {
  const publishingHost = rest === '' || rest === '/' ? undefined : publishingHostOf(host);
  const hasQuery = rest.includes('?');
  const request = hasQuery ? requestPage(publishingHost?.name ?? host, path, rest, publishingHost) : undefined;
  if (request !== undefined) return request;
  if (publishingHost === undefined)
    return (hasQuery ? parameterPage(host, path, rest) : undefined) ?? ownPage(host, path);
  const segments = path
    .replace(ESCAPED_SIGN, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
    .split('/')
    .filter((segment) => segment !== '');
  const query = queryOf(rest);
  for (const pattern of publishingHost.patterns) {
    const fragment = pattern.hasFragments ? fragmentOf(rest, pattern) : '';
    if (pattern.hasFragments && fragment === '') continue;
    const page = matchPattern(pattern, segments, query, publishingHost.ignoresCase);
    if (page !== undefined) return fragment === '' ? page : { ...page, name: readableAgain(page.name + fragment) };
  }
  const name = segments.map((segment) => `/${segment}`).join('');
  const shown = parametersOf(query) + fragmentOf(rest, publishingHost);
  // On the root, only parameters and a route tell a page of the host from the host.
  if (publishingHost.hasOwnPages && (name !== '' || shown === '')) return ownPage(host, path);
  if (name === '' && shown === '') return undefined;
  return {
    name: readableAgain(
      publishingHost.name + (publishingHost.ignoresCase ? inLowerCase(name) : name) + (name === '' ? '/' : '') + shown,
    ),
    root: publishingHost.name.length,
    isShared: !publishingHost.hasOwnPages,
    others: NO_OTHERS,
  };
};

const CLIENTS = CLIENT_PARAMETERS.split(' ');

/** Maximum length of the end of a path that names the endpoint of a request. */
const MAX_ENDPOINT_LENGTH = 128;

/** Whether a link with this path is a request of OAuth or OpenID as soon as it names a client. */
export const isRequestEndpoint = (path: string): boolean => REQUEST_PATH.test(path.slice(-MAX_ENDPOINT_LENGTH));

/**
 * Returns the page of a request of OAuth or OpenID: the host and the client, whatever the tenant, the version and the
 * other parameters. The name is itself such a request, so that it is read as the same page.
 */
const requestPage = (host: string, path: string, rest: string, shared?: PublishingHost): Page | undefined => {
  const isEndpoint = isRequestEndpoint(path);
  if (!isEndpoint && !REQUEST_PARAMETER.test(rest)) return undefined;
  const query = [...queryOf(rest)];
  const clients = CLIENTS.map((client) =>
    query.flatMap(([name, value]) => (value !== '' && name.toLowerCase() === client ? [value] : [])),
  ).find(({ length }) => length > 0);
  if (clients === undefined) return undefined;
  const [name, ...others] = [...new Set(clients)]
    .slice(0, MAX_OTHERS)
    .map((client) => readableAgain(`${host}/oauth2/authorize?client_id=${encodeURIComponent(client.toWellFormed())}`));
  const isShared = shared?.hasOwnPages === false;
  // A blocked endpoint is not blocked for all of its clients. Any other page is, whatever parameters somebody adds.
  const above = isEndpoint || shared !== undefined ? foldersAbove(host, path) : pagesAbove(host, path);
  return { name: name!, root: name!.length, isShared, others, above: isShared ? NO_OTHERS : above, isRequest: true };
};

/** Maximum number of folders above a page that a parameter names. */
const MAX_FOLDERS = 16;

const foldersAbove = (host: string, path: string): readonly string[] => {
  const folders: string[] = [];
  for (let end = path.indexOf('/', 1); end !== -1 && folders.length < MAX_FOLDERS; end = path.indexOf('/', end + 1))
    folders.push(readableAgain(host + path.slice(0, end)));
  return folders;
};

/** Returns the folders above a page that a parameter names, and the page without parameters. */
const pagesAbove = (host: string, path: string): readonly string[] => {
  const folders = foldersAbove(host, path);
  return path === '' ? folders : [...folders, readableAgain(host + path)];
};

const PARAMETER_PATTERNS = new Map<string, Pattern[]>();
for (const text of NAMING_PARAMETERS.split(' ')) {
  const pattern = parsePattern('', text);
  const [program = ''] = pattern.segments;
  PARAMETER_PATTERNS.set(program, [...(PARAMETER_PATTERNS.get(program) ?? []), pattern]);
}

/** Returns a page of a program that runs on many hosts, where a parameter names the page. */
const parameterPage = (host: string, path: string, rest: string): Page | undefined => {
  const slash = path.lastIndexOf('/') + 1;
  const last = path.slice(slash).toLowerCase();
  const above = pagesAbove(host, path);
  const [whole] = NAMING_QUERY.exec(last + rest.slice(rest.indexOf('?'))) ?? [];
  if (whole !== undefined) {
    const name = readableAgain(`${host}${path.slice(0, slash)}${whole}`);
    return { name, root: name.length, isShared: false, others: NO_OTHERS, above };
  }
  for (const pattern of PARAMETER_PATTERNS.get(last) ?? NO_PATTERNS) {
    const onHost = { ...pattern, host: last === '' ? `${host}/` : host + path.slice(0, slash - 1) };
    const page = matchPattern(onHost, last === '' ? [] : [last], queryOf(rest), false);
    if (page !== undefined) return { ...page, isShared: false, above };
  }
  return undefined;
};

/** Escapes of signs that platforms read as the signs. */
const ESCAPED_SIGN = /%(?:2[14C]|3A)/g;

/** Returns a page that the owner of the host publishes. */
const ownPage = (host: string, path: string): Page | undefined =>
  path === '' ? undefined : { name: readableAgain(host + path), root: host.length, isShared: false, others: NO_OTHERS };

/** Maximum number of pages between which a link with repeated parameters leaves the choice. */
const MAX_OTHERS = 3;

const matchPattern = (
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
const parametersOf = (query: URLSearchParams): string => {
  if (query.size === 0) return '';
  const named =
    query.size > MAX_SORTED_PARAMETERS
      ? query
      : new URLSearchParams([...query].filter(([name, value]) => !TRACKING.test(name) || HELD_LINK.test(`=${value}`)));
  if (named !== query) named.sort();
  const text = named.toString();
  return text === '' ? '' : `?${text}`;
};

/** A fragment that the page's program reads as a route, rather than a place in the page. */
const ROUTE = /^[^#]*#(?:[!/]|[^?&=/]*\/[^/])/;

/**
 * Whether the page of a link is named without parameters or a route that may name it, so that a status of it concerns
 * others too.
 */
export const dropsQuery = (location: Location): boolean => {
  const { isShared = false, name = '' } = pageOf(location) ?? {};
  if (isShared || /[?#]/.test(name) || holdsUnreadLink(location)) return false;
  return parametersOf(queryOf(location.rest)) !== '' || ROUTE.test(location.rest);
};

/** Returns the name of exactly one link, for a link that holds a link which is not read. */
export const linkName = ({ host, rest }: Location): string => {
  const hasFragments = HELD_LINK.test(rest.slice(rest.indexOf('#')));
  return readableAgain(host + (pathOf(rest) || '/') + parametersOf(queryOf(rest)) + fragmentOf(rest, { hasFragments }));
};

const fragmentOf = (rest: string, { hasFragments }: Pick<PublishingHost, 'hasFragments'>): string => {
  const start = rest.indexOf('#');
  if (start === -1 || start === rest.length - 1) return '';
  return hasFragments || /^#[!/]/.test(rest.slice(start, start + 2))
    ? new URL(`http://h/${rest.slice(start)}`).hash
    : '';
};

/** Maximum length of a path that is changed to lower case. No name of a page is longer. */
const MAX_FOLDED_LENGTH = 1_024;

/** Changes a path to lower case, except its percent escapes. */
const inLowerCase = (path: string): string =>
  path.length > MAX_FOLDED_LENGTH
    ? path
    : path.toLowerCase().replace(/%[0-9a-f]{2}/g, (escape) => escape.toUpperCase());

/** Escapes brackets in a name that would be read as defanging marks, so that the name is read as the same page. */
const readableAgain = (name: string): string =>
  refang(name) === name
    ? name
    : name.replace(/[[\](){}]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

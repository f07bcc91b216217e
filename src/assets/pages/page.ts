import { type Location, pathOf, queryOf } from '../location.js';
import { DEFAULT_SUBDOMAINS } from '../profiles/site.js';
import { SITES } from '../profiles/sites.js';
import { HELD_LINK, holdsUnreadLink } from '../carriers/held-links.js';
import {
  fragmentOf,
  inLowerCase,
  matchPattern,
  MAX_OTHERS,
  NO_OTHERS,
  type Page,
  parametersOf,
  parsePattern,
  type Pattern,
  readableAgain,
} from './page-name.js';
import {
  CLIENT_PARAMETERS,
  NAMING_PARAMETERS,
  NAMING_QUERY,
  PUBLISHING_HOSTS,
  REQUEST_PARAMETER,
  REQUEST_PATH,
} from './publishing-hosts.js';

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

const LOCALES = '|[a-z]{2}(?:-[a-z]{2,4})?';
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
    const fragment = pattern.hasFragments ? fragmentOf(rest, true) : '';
    if (pattern.hasFragments && fragment === '') continue;
    const page = matchPattern(pattern, segments, query, publishingHost.ignoresCase);
    if (page !== undefined) return fragment === '' ? page : { ...page, name: readableAgain(page.name + fragment) };
  }
  const name = segments.map((segment) => `/${segment}`).join('');
  const shown = parametersOf(query) + fragmentOf(rest, publishingHost.hasFragments);
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
  return readableAgain(host + (pathOf(rest) || '/') + parametersOf(queryOf(rest)) + fragmentOf(rest, hasFragments));
};

import { type ReadName, type CompiledSite, compileSite, type LinkParts } from './site.js';
import { phone, withoutPeriods, SITES } from './sites.js';
import { readSegment } from '../copied-text.js';
import { pathOf, queryOf } from '../location.js';

const withoutAt = (text: string): string => (text.startsWith('@') ? text.slice(1) : text);

/**
 * Functions that normalize the names of types with special rules. For other types, a leading `@` is removed and the
 * name is changed to lower case.
 */
const NORMALIZERS: Readonly<Record<string, (text: string) => string>> = {
  WHATSAPP: (text) => phone(text) ?? withoutAt(text),
  DISCORD: withoutAt,
  FACEBOOK: (text) => {
    const name = withoutAt(text).toLowerCase();
    return name.includes('/') ? name : (withoutPeriods(name) ?? name);
  },
  GOOGLE_APP_STORE: withoutAt,
  APPLE_APP_STORE: (text) => text.replace(/^id(?=\d)/i, ''),
  TELEGRAM: (text) => (text.startsWith('+') ? text : withoutAt(text).toLowerCase()),
  REDDIT: (text) => readReddit(text) ?? withoutAt(text).toLowerCase(),
  YOUTUBE: (text) => {
    const [, channel] = /^(?:channel\/)?(UC[\w-]{22})$/.exec(text) ?? [];
    if (channel !== undefined) return `channel/${channel}`;
    return /^(?:@|c\/|user\/)/i.test(text) ? text.toLowerCase() : `@${text.toLowerCase()}`;
  },
};

/** Normalizes a profile name that is not a link. */
export const profileName = (type: string, text: string): string =>
  NORMALIZERS[type]?.(text) ?? withoutAt(text).toLowerCase();

/** Parses Reddit's short form: `u/NAME`, `r/NAME`. */
export const readReddit: ReadName = (text) => {
  const [, kind, name] = /^\/?(u|user|r)\/([\w-]{2,32})$/i.exec(text) ?? [];
  return kind === undefined ? undefined : `${kind[0]!.toLowerCase()}/${name!.toLowerCase()}`;
};

/** A profile, channel, group, app or collection on a platform. */
export interface Profile {
  /** The asset type of the profile. */
  readonly type: string;
  /** The normalized name, equal for all links to the profile. */
  readonly name: string;
}

/** The profile to which a link leads. */
export interface LinkedProfile extends Profile {
  /** Whether the link leads to something below the profile, which other people may have published. */
  readonly isBelow: boolean;
  /** Whether the link leads to a post of the profile, which is a separate asset. */
  readonly isPost: boolean;
  /** The names of the other profiles to which the link may lead, because a parameter is repeated. */
  readonly others: readonly string[];
  /** Whether the link may lead to something else. */
  readonly isUncertain: boolean;
}

/** All asset types of profiles. */
export const PROFILE_TYPES: ReadonlySet<string> = new Set(SITES.map(({ type }) => type));

const TYPES_WITH_POSTS: ReadonlySet<string> = new Set(SITES.filter((site) => site.hasPosts).map(({ type }) => type));
/** Whether pages under profiles of this type can be posts. */
export const hasPosts = (type: string): boolean => TYPES_WITH_POSTS.has(type);

const COMPILED = SITES.map(compileSite);
const BY_HOST = new Map<string, CompiledSite[]>();
for (const compiled of COMPILED)
  for (const host of compiled.site.hosts.split(' ')) BY_HOST.set(host, [...(BY_HOST.get(host) ?? []), compiled]);

const NO_SITES: readonly CompiledSite[] = [];

const sitesOf = (host: string): readonly CompiledSite[] => {
  const sites = BY_HOST.get(host);
  if (sites !== undefined) return sites;
  const dot = host.indexOf('.');
  const ofParentHost = BY_HOST.get(host.slice(dot + 1));
  return ofParentHost?.filter(({ subdomains }) => subdomains.test(host.slice(0, dot))) ?? NO_SITES;
};

/** Whether the host has profiles of many people, so that the status of the host does not apply to a profile. */
export const hostsProfiles = (host: string): boolean => sitesOf(host).length > 0;

const PROFILE_HOSTS = new Map(
  COMPILED.flatMap(({ site: { type }, profileHosts }) =>
    profileHosts.map(({ parent, read }) => [parent, { type, read }]),
  ),
);

/** Returns the profile to which a whole host belongs, such as `NAME.medium.com`. */
export const profileHost = (host: string): Profile | undefined => {
  const dot = host.indexOf('.');
  const profileHosts = PROFILE_HOSTS.get(host.slice(dot + 1));
  if (profileHosts === undefined || sitesOf(host).length > 0) return undefined;
  const name = profileHosts.read(host.slice(0, dot));
  return name === undefined ? undefined : { type: profileHosts.type, name };
};

/** The domains whose hosts each belong to one profile. */
export const profileDomains = (): Iterable<string> => PROFILE_HOSTS.keys();

/** Maximum number of path segments that are compared with patterns, because no pattern has more segments. */
const MAX_SEGMENTS = 8;

const segmentsOf = (path: string): string[] =>
  path
    .split('/', MAX_SEGMENTS)
    .filter((segment) => segment !== '')
    .map((segment) => readSegment(segment) || segment);

/**
 * Returns the profile to which a link leads.
 * @param path the result of `pathOf`
 * @param rest path, query and fragment of the link
 */
export const readProfileLink = (host: string, path: string, rest = ''): LinkedProfile | undefined => {
  const hash = rest.indexOf('#');
  if (path === '' && hash === -1 && !rest.includes('?')) return undefined;
  const sites = sitesOf(host);
  if (sites.length === 0) return undefined;
  const parts: LinkParts = {
    segments: segmentsOf(path),
    query: queryOf(rest),
    fragment: hash === -1 ? [] : segmentsOf(rest.slice(hash + 1).split('?', 1)[0]!),
    fragmentQuery: new URLSearchParams(hash === -1 ? '' : rest.slice(hash + 1).replace(/^[^?]*\??/, '')),
  };
  for (const { site, match } of sites) {
    const found = match(parts);
    if (found === undefined) continue;
    const { name, others, isUncertain, isBelow } = found;
    return { type: site.type, name, others, isUncertain, isBelow, isPost: isBelow && site.hasPosts === true };
  }
  return undefined;
};

/** Returns a link to a profile, without the scheme; undefined if no link is read as a profile with this name. */
export const profileLink = (type: string, name: string): string | undefined =>
  SITES.filter((site) => site.type === type)
    .map(({ hosts, shown = '{name}' }) => [hosts.split(' ', 1)[0]!, `/${shown.replace('{name}', () => name)}`] as const)
    .find(([host, rest]) => {
      const found = readProfileLink(host, pathOf(rest), rest);
      return found?.type === type && found.name === name;
    })
    ?.join('');

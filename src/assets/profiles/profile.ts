import { readSegment } from '../text/copied-text.js';
import { queryOf } from '../location.js';
import { type CompiledSite, compileSite, type LinkParts } from './site.js';
import { SITES } from './sites.js';

/** A profile, channel, group, app or collection on a platform. */
export interface Profile {
  /** Asset type. */
  readonly type: string;
  /** Normalised: equal for all links to it. */
  readonly name: string;
}

/** What a link leads to. */
export interface LinkedProfile extends Profile {
  /** The link leads to a post under the profile, an asset of its own. */
  readonly isPost: boolean;
}

/** All asset types of profiles. */
export const PROFILE_TYPES: ReadonlySet<string> = new Set(SITES.map(({ type }) => type));

const PUBLISHING: ReadonlySet<string> = new Set(SITES.filter((site) => site.publishes).map(({ type }) => type));
/** Whether a page under a profile of this type can be a post. */
export const publishes = (type: string): boolean => PUBLISHING.has(type);

const COMPILED = SITES.map(compileSite);
const BY_HOST = new Map<string, CompiledSite[]>();
for (const compiled of COMPILED)
  for (const host of compiled.site.hosts.split(' ')) BY_HOST.set(host, [...(BY_HOST.get(host) ?? []), compiled]);

const NONE: readonly CompiledSite[] = [];

const sitesOf = (host: string): readonly CompiledSite[] => {
  const sites = BY_HOST.get(host);
  if (sites !== undefined) return sites;
  const dot = host.indexOf('.');
  const below = BY_HOST.get(host.slice(dot + 1));
  return below?.filter(({ under }) => under.test(host.slice(0, dot))) ?? NONE;
};

/** Whether this host has profiles, so that its verdict says nothing about one of them. */
export const hostsProfiles = (host: string): boolean => sitesOf(host).length > 0;

const PERSONAL = new Map(
  COMPILED.flatMap(({ site: { type }, personal }) => personal.map(({ parent, read }) => [parent, { type, read }])),
);

/** The profile that has this host as its own. */
export const profileHost = (host: string): Profile | undefined => {
  const dot = host.indexOf('.');
  const personal = PERSONAL.get(host.slice(dot + 1));
  if (personal === undefined || sitesOf(host).length > 0) return undefined;
  const name = personal.read(host.slice(0, dot));
  return name === undefined ? undefined : { type: personal.type, name };
};

/** More segments than any link has. */
const MAX_SEGMENTS = 8;

const segmentsOf = (path: string): string[] =>
  path
    .split('/', MAX_SEGMENTS)
    .filter((segment) => segment !== '')
    .map((segment) => readSegment(segment) || segment);

/**
 * The profile that a link leads to.
 * @param path from `pathOf`
 * @param rest what follows the host in the link, for its query and fragment
 */
export const readProfileLink = (host: string, path: string, rest = ''): LinkedProfile | undefined => {
  const hash = rest.indexOf('#');
  if (path === '' && hash === -1 && !rest.includes('?')) return undefined;
  const sites = sitesOf(host);
  if (sites.length === 0) return undefined;
  const parts: LinkParts = {
    segments: segmentsOf(path),
    query: queryOf(rest),
    fragment: hash === -1 ? [] : segmentsOf(rest.slice(hash + 1)),
  };
  for (const { site, match } of sites) {
    const found = match(parts);
    if (found !== undefined)
      return { type: site.type, name: found.name, isPost: found.isDeeper && site.publishes === true };
  }
  return undefined;
};

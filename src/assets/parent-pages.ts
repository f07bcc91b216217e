import type { ParsedContent } from './parse-content.js';
import { hostsProfiles, profileHost, readProfileLink } from './profiles/profile.js';

/** A parent page or profile of an asset. */
export interface ParentPage {
  readonly key: string;
  /** The length of host and path in characters. A longer parent is nearer to the asset. */
  readonly matchedLength: number;
}

const PAGE = 'PAGE:';
const NO_PARENTS: readonly ParentPage[] = [];
/** Maximum number of path segments that are considered, to limit the number of lookups. */
const MAX_SEGMENTS = 16;
/** Maximum number of segments of a profile link. */
const MAX_PROFILE_LENGTH = 3;

/**
 * Returns the parent pages of an asset on the host of the asset, nearest first, and the profiles to which the parent
 * pages belong.
 */
export const parentPages = ({ keys, host = '' }: ParsedContent): readonly ParentPage[] => {
  const page = keys[0]!;
  if (!page.startsWith(PAGE)) return NO_PARENTS;
  const root = PAGE.length + host.length;
  const hasProfiles = hostsProfiles(host);
  const owner = profileHost(host);
  const parents: ParentPage[] =
    owner === undefined ? [] : [{ key: `${owner.type}:${owner.name}`, matchedLength: host.length }];
  let segments = 0;
  for (let end = page.indexOf('/', root + 1); end !== -1; end = page.indexOf('/', end + 1)) {
    segments += 1;
    if (segments > MAX_SEGMENTS) break;
    const matchedLength = end - PAGE.length;
    const profile =
      hasProfiles && segments <= MAX_PROFILE_LENGTH ? readProfileLink(host, page.slice(root, end)) : undefined;
    if (profile !== undefined && !profile.isPost) {
      const key = `${profile.type}:${profile.name}`;
      if (!keys.includes(key)) parents.push({ key, matchedLength });
    }
    parents.push({ key: page.slice(0, end), matchedLength });
  }
  return parents.reverse();
};

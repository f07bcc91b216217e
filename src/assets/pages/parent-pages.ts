import type { ParsedContent } from '../parsed-content.js';
import { hostsProfiles, profileHost, readProfileLink } from '../profiles/profile.js';

/** A parent page or profile of an asset. Only the status BLOCKED is inherited from it. */
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
 * pages belong. A page that its parameters name has no parent page.
 */
export const parentPages = ({ keys, host = '', pageRoot = 0 }: ParsedContent): readonly ParentPage[] => {
  const page = keys[0]!;
  if (!page.startsWith(PAGE)) return NO_PARENTS;
  const root = PAGE.length + pageRoot;
  const hasProfiles = hostsProfiles(host);
  const owner = profileHost(host);
  const parents: ParentPage[] =
    owner === undefined ? [] : [{ key: `${owner.type}:${owner.name}`, matchedLength: host.length }];
  const query = page.slice(root).search(/[?#]/);
  const pathEnd = query === -1 ? page.length : root + query;
  const addParent = (end: number): void =>
    void parents.push({ key: page.slice(0, end), matchedLength: end - PAGE.length });
  let segments = 0;
  for (let end = page.indexOf('/', root + 1); end !== -1 && end < pathEnd; end = page.indexOf('/', end + 1)) {
    segments += 1;
    if (segments > MAX_SEGMENTS) break;
    const profile =
      hasProfiles && segments <= MAX_PROFILE_LENGTH ? readProfileLink(host, page.slice(root, end)) : undefined;
    if (profile !== undefined && !profile.isPost) {
      const key = `${profile.type}:${profile.name}`;
      if (!keys.includes(key)) parents.push({ key, matchedLength: end - PAGE.length });
    }
    addParent(end);
  }
  // The page without its parameters or fragment.
  if (pathEnd < page.length && pathEnd > root + 1) addParent(pathEnd);
  return parents.reverse();
};

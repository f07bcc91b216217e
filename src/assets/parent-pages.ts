import type { ParsedContent } from './parse-content.js';
import { hostsProfiles, profileHost, readProfileLink } from './profiles/profile.js';

/** A parent page or profile of an asset. */
export interface ParentPage {
  readonly key: string;
  /** Number of characters of host and path. A longer parent is nearer to the asset. */
  readonly matchedLength: number;
}

const PAGE = 'PAGE:';
const NONE: readonly ParentPage[] = [];
/** Maximum number of path segments that are considered, to limit the number of lookups. */
const MAX_SEGMENTS = 16;
/** No profile link has more segments. */
const MAX_PROFILE_LENGTH = 3;

/** Returns the parent pages of an asset on its host, nearest first, and the profiles that they belong to. */
export const parentPages = ({ keys, host = '' }: ParsedContent): readonly ParentPage[] => {
  const page = keys[0]!;
  if (!page.startsWith(PAGE)) return NONE;
  const root = PAGE.length + host.length;
  const hasProfiles = hostsProfiles(host);
  const owner = profileHost(host);
  const above: ParentPage[] =
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
      if (!keys.includes(key)) above.push({ key, matchedLength });
    }
    above.push({ key: page.slice(0, end), matchedLength });
  }
  return above.reverse();
};

import type { ParsedContent } from './parse-content.js';
import { hostsProfiles, readProfileLink } from './profile.js';

/** A page or profile that an asset is under. */
export interface Above {
  readonly key: string;
  /** Length of host and path; the longer of two is nearer to the asset. */
  readonly place: number;
}

const PAGE = 'PAGE:';
const NONE: readonly Above[] = [];
/** Path segments considered, from the host on: URLs with thousands must not cost thousands of lookups. */
const MAX_SEGMENTS = 16;
/** Profile links have no more segments. */
const MAX_PROFILE_LENGTH = 3;

/** The pages above the asset's own on its host, nearest first, each with the profile it belongs to. */
export const pagesAbove = ({ keys, host = '' }: ParsedContent): readonly Above[] => {
  const page = keys[0]!;
  if (!page.startsWith(PAGE)) return NONE;
  const root = PAGE.length + host.length;
  const hasProfiles = hostsProfiles(host);
  const above: Above[] = [];
  let segments = 0;
  for (let end = page.indexOf('/', root + 1); end !== -1; end = page.indexOf('/', end + 1)) {
    segments += 1;
    if (segments > MAX_SEGMENTS) break;
    const place = end - PAGE.length;
    const profile =
      hasProfiles && segments <= MAX_PROFILE_LENGTH ? readProfileLink(host, page.slice(root, end)) : undefined;
    if (profile !== undefined) {
      const key = `${profile.type}:${profile.name}`;
      if (!keys.includes(key)) above.push({ key, place });
    }
    above.push({ key: page.slice(0, end), place });
  }
  return above.reverse();
};

import { holdsUnreadLink } from './carriers/held-links.js';
import { gatewayCid } from './ipfs.js';
import { isInternalHost } from './ip-address.js';
import { urlKey, type Content, internalContent, type ParsedContent } from './asset.js';
import { endOfPath, type Location, pathOf } from './location.js';
import { linkName, pageOf } from './pages/page.js';
import type { Page } from './pages/page-name.js';
import {
  type LinkedProfile,
  type Profile,
  profileHost,
  hasPosts,
  readProfileLink,
  hostsProfiles,
} from './profiles/profile.js';

/** Schemes before a host. Behind the scheme of any other app, a single label is a command of the app. */
const BEFORE_HOST = /^(?:https?|wss?|s?ftps?|ssh|file|smb|afp|nfs|davs?|rdp|vnc|telnet|ldaps?)$/;

/** @returns undefined if the location is a single label without such a scheme, which is no host of the Internet */
export const locationContent = (location: Location): Content | undefined => {
  const { host, isName, scheme } = location;
  if (isInternalHost(host, isName)) return internalContent(host);
  if (isName && !host.includes('.')) return BEFORE_HOST.test(scheme) ? internalContent(host) : undefined;
  return { parsed: locationAsset(location) };
};

/** The place of an asset on a host. */
interface Place {
  readonly host: string;
  readonly isDnsName: boolean;
  readonly isSharedHost: boolean;
  readonly page?: Page | undefined;
  readonly blockingKeys?: readonly string[];
  readonly isUncertain?: boolean;
}

/**
 * Creates the result for a host or an asset on a host. No object is spread here or for a host and its pages, because
 * spreading would double the parsing time.
 */
const assetAt = (place: Place, type: string, name: string, keys: readonly string[]): ParsedContent => ({
  type,
  name,
  keys,
  host: place.host,
  isSharedHost: place.isSharedHost,
  isDnsName: place.isDnsName,
  isOnHost: false,
  account: undefined,
  pageRoot: place.page?.root ?? place.host.length,
  blockingKeys: place.blockingKeys,
  pagesAbove: place.page?.above,
  isUncertain: place.isUncertain,
});

const NO_KEYS: readonly string[] = [];

/** Returns the asset at a web address: the host, or a page, a profile or IPFS content on the host. */
export const locationAsset = (location: Location): ParsedContent => {
  const asset = placeAsset(location);
  if (!holdsUnreadLink(location)) return asset;
  const own = asset.isSharedHost ? NO_KEYS : [`PAGE:${linkName(location)}`];
  return { ...asset, blockingKeys: [...(asset.blockingKeys ?? NO_KEYS), ...own], isUncertain: true };
};

const placeAsset = (location: Location): ParsedContent => {
  const { host, isName, rest } = location;
  const url = urlKey(host);
  const owner = isName ? profileHost(host) : undefined;
  const path = rest === '' ? '' : pathOf(rest);
  const page = rest === '' ? undefined : pageOf(location, path);
  const pageKey = page === undefined ? url : `PAGE:${page.name}`;
  if (owner !== undefined) return profileHostAsset(host, url, pageKey, owner);
  const profile = isName && page?.isRequest !== true ? readProfileLink(host, path, rest) : undefined;
  if (profile !== undefined && !profile.isPost) return profileAsset(host, page, profile);
  const served = gatewayCid(location, path);
  const content = served === undefined ? NO_KEYS : [`IPFS:${served.cid}`];
  const [exact, blocking] = served?.isTrusted === true ? [content, NO_KEYS] : [NO_KEYS, content];
  const others = page === undefined ? NO_KEYS : page.others.map((name) => `PAGE:${name}`);
  const isSharedHost = page?.isShared === true;
  const blockingKeys = [...blocking, ...others];
  const place = { host, isDnsName: isName, isSharedHost, page, blockingKeys, isUncertain: others.length > 0 };
  if (page === undefined || !isSharedHost)
    return assetAt(place, 'URL', host, page === undefined ? [url, ...exact] : [pageKey, ...exact, url]);
  const [type, name] = served?.isTrusted === true ? ['IPFS', served.cid] : ['PAGE', page.name];
  return assetAt(place, type!, name!, [pageKey, ...exact]);
};

/** Creates the result for a profile, or for something below it, which only a BLOCKED status of the profile concerns. */
const profileAsset = (host: string, page: Page | undefined, profile: LinkedProfile): ParsedContent => {
  const { type, name, others, isBelow } = profile;
  const key = `${type}:${name}`;
  const otherKeys = [...others.map((other) => `${type}:${other}`), ...(page?.others ?? []).map((one) => `PAGE:${one}`)];
  const place = { host, isDnsName: true, isSharedHost: true, page };
  const isUncertain = profile.isUncertain || otherKeys.length > 0;
  const keys = page === undefined ? [key] : [`PAGE:${page.name}`, ...(isBelow ? NO_KEYS : [key])];
  const blockingKeys = keys.includes(key) ? otherKeys : [key, ...otherKeys];
  return assetAt({ ...place, blockingKeys, isUncertain }, type, name, keys);
};

/** Creates the result for a host that belongs to one profile, or for a post on such a host. */
const profileHostAsset = (host: string, url: string, page: string, { type, name }: Profile): ParsedContent => {
  const place = { host, isDnsName: true, isSharedHost: false };
  if (page !== url && hasPosts(type)) return assetAt(place, 'PAGE', page.slice('PAGE:'.length), [page, url]);
  const blockingKeys = page === url ? NO_KEYS : [page];
  return assetAt({ ...place, blockingKeys }, type, name, [url, `${type}:${name}`]);
};

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
 * pages belong. A page that its parameters name has the pages of its path as parent pages.
 */
export const parentPages = ({
  keys,
  host = '',
  pageRoot = 0,
  pagesAbove = NO_KEYS,
}: ParsedContent): readonly ParentPage[] => {
  const page = keys[0]!;
  if (!page.startsWith(PAGE)) return NO_PARENTS;
  const root = PAGE.length + pageRoot;
  const hasProfiles = hostsProfiles(host);
  const owner = profileHost(host);
  const parents: ParentPage[] =
    owner === undefined ? [] : [{ key: `${owner.type}:${owner.name}`, matchedLength: host.length }];
  const pathEnd = root + endOfPath(page.slice(root));
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
  for (const name of pagesAbove) parents.push({ key: PAGE + name, matchedLength: name.length });
  // The page without its parameters or fragment.
  if (pathEnd < page.length && pathEnd > root + 1) addParent(pathEnd);
  return parents.reverse();
};

import { gatewayCid } from './ipfs.js';
import { isInternalHost } from './internal-host.js';
import { urlKey } from './keys.js';
import { type Location, pathOf } from './location.js';
import { hostsUserPages, pageOf } from './pages/page.js';
import { type Content, internalContent, type ParsedContent } from './parsed-content.js';
import { type Profile, profileHost, hasPosts, readProfileLink } from './profiles/profile.js';

/** @returns undefined if the location is a single label without a scheme, which is no host of the Internet */
export const locationContent = (location: Location): Content | undefined => {
  const { host, isName, scheme } = location;
  if (isInternalHost(host, isName)) return internalContent(host);
  if (isName && !host.includes('.')) return scheme === '' ? undefined : internalContent(host);
  return { parsed: locationAsset(location) };
};

/**
 * Creates the result for a host or an asset on a host. The object is not spread from another object, because spreading
 * would double the parsing time.
 */
const hostAsset = (
  host: string,
  isDnsName: boolean,
  isSharedHost: boolean,
  type: string,
  name: string,
  keys: readonly string[],
  pageRoot = 0,
  blockingKeys: readonly string[] | undefined = undefined,
  isUncertain = false,
): ParsedContent => ({
  type,
  name,
  keys,
  host,
  isSharedHost,
  isDnsName,
  isOnHost: false,
  account: undefined,
  pageRoot,
  blockingKeys,
  isUncertain,
});

/** Returns the asset at a web address: the host, or a page, a profile or IPFS content on the host. */
export const locationAsset = (location: Location): ParsedContent => {
  const { host, isName, rest } = location;
  const url = urlKey(host);
  const owner = isName ? profileHost(host) : undefined;
  const path = rest === '' ? '' : pathOf(rest);
  const page = rest === '' ? undefined : pageOf(location, path);
  const pageKey = page === undefined ? url : `PAGE:${page.name}`;
  if (owner !== undefined) return profileHostAsset(host, url, pageKey, owner);
  const served = gatewayCid(location, path);
  const cid = served && `IPFS:${served.cid}`;
  const profile = isName ? readProfileLink(host, path, rest) : undefined;
  const others = page === undefined ? [] : page.others.map((name) => `PAGE:${name}`);
  if (profile !== undefined && !profile.isPost) {
    const { type, name, isBelow } = profile;
    const key = `${type}:${name}`;
    const otherKeys = [...others, ...profile.others.map((other) => `${type}:${other}`)];
    const isUncertain = profile.isUncertain || others.length > 0;
    return isBelow
      ? hostAsset(host, isName, true, type, name, [pageKey], page?.root, [key, ...otherKeys], isUncertain)
      : hostAsset(
          host,
          isName,
          true,
          type,
          name,
          page === undefined ? [key] : [pageKey, key],
          page?.root,
          otherKeys,
          isUncertain,
        );
  }
  if (page !== undefined && hostsUserPages(host)) {
    if (cid !== undefined && served?.isTrusted === true)
      return hostAsset(host, isName, true, 'IPFS', served.cid, [pageKey, cid], page.root, others);
    const blocking = cid === undefined ? others : [cid, ...others];
    return hostAsset(host, isName, true, 'PAGE', page.name, [pageKey], page.root, blocking, others.length > 0);
  }
  const keys = page === undefined ? [url] : [pageKey, url];
  if (served?.isTrusted === true) keys.splice(page === undefined ? 1 : -1, 0, cid!);
  return hostAsset(
    host,
    isName,
    false,
    'URL',
    host,
    keys,
    page?.root,
    served?.isTrusted === false ? [cid!] : undefined,
  );
};

/** Creates the result for a host that belongs to one profile, or for a post on such a host. */
const profileHostAsset = (host: string, url: string, page: string, { type, name }: Profile): ParsedContent =>
  page !== url && hasPosts(type)
    ? hostAsset(host, true, false, 'PAGE', page.slice('PAGE:'.length), [page, url], host.length)
    : hostAsset(host, true, false, type, name, [url, `${type}:${name}`]);

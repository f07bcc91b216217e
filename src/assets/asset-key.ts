import { readAccount } from './accounts/payment.js';
import { type Asset, addressKey, hashOfKey, type ParsedContent, urlKey } from './asset.js';
import { carriedLinks } from './carriers/carried-link.js';
import { isCarrier } from './carriers/carrier-forms.js';
import { HELD_LINK, holdsUnreadLink } from './carriers/held-links.js';
import { followLinks } from './carriers/follow-links.js';
import { readRecipients } from './email.js';
import { gatewayCid, readIpfs } from './ipfs.js';
import { locateLink, locateWeb } from './link.js';
import { type Location, parsePlainLocation, pathOf, refang, trimLikeUrlParser } from './location.js';
import { dropsQuery, isPublishingHost, linkName, pageOf } from './pages/page.js';
import { locatePasted } from './parse-text.js';
import { hostsProfiles, profileName, PROFILE_TYPES, profileHost, readProfileLink } from './profiles/profile.js';
import { copiedText, parsePasted, trimPastedText } from './copied-text.js';

const PAGE = 'PAGE:';

/**
 * Returns the normalized key of an asset: `TYPE:content`. The key is equal for all spellings of an asset and different
 * for different assets. Content that cannot be parsed as its type is only trimmed. Normalizing a key again returns the
 * same key.
 */
export const assetKey = ({ type, content }: Asset): string => {
  const text = content.trim();
  const trimmed = trimLikeUrlParser(copiedText(content));
  switch (type) {
    case 'URL':
    case 'PAGE': {
      const location = locateOnly(trimmed, type === 'URL');
      if (location === undefined) return `${type}:${text}`;
      // All of any other host belongs to one owner.
      if (type === 'URL' && isOfOneOwner(location.host)) return urlKey(location.host);
      const served = type === 'URL' ? gatewayCid(location) : undefined;
      return served?.isTrusted === true ? `IPFS:${served.cid}` : pageKey(location);
    }
    case 'ADDRESS': {
      const account = parsePasted(trimmed, readAccount);
      return account ? addressKey(account.key) : `ADDRESS:${text}`;
    }
    case 'EMAIL': {
      const recipients = parsePasted(refang(trimmed), readRecipients);
      const isOne = recipients?.isUnderstood === true && recipients.emails.length === 1;
      return `EMAIL:${isOne ? recipients.emails[0]! : text.toLowerCase()}`;
    }
    case 'IPFS': {
      const cid = parsePasted(trimmed, readIpfs);
      const location = cid === undefined ? locateOnly(trimmed) : undefined;
      return `IPFS:${cid ?? (location && gatewayCid(location)?.cid) ?? text}`;
    }
    default:
      return PROFILE_TYPES.has(type) ? profileKey(type, text) : `${type}:${text}`;
  }
};

const isOfOneOwner = (host: string): boolean => !isPublishingHost(host) && !isCarrier(host);

/**
 * Returns the location that a pasted text names or carries; undefined if it may open several, or cannot be located.
 * @param isHostEnough whether a location of which only the host is known counts, if the host belongs to one owner
 */
const locateOnly = (sent: string, isHostEnough = false): Location | undefined => {
  const followed = followLinks(sent, parsePlainLocation(sent));
  if (followed?.isUnderstood === false && followed.returns.size === 0) return undefined;
  const opened = followed?.targets.filter((target) => !followed.returns.has(target)) ?? [sent];
  const [location, ...others] = opened.map((text) => {
    const web = locateWeb(text);
    return web === undefined ? parsePasted(text, locateUnlessMail) : locatePasted(text, web);
  });
  // An app takes a text without a dot as a command.
  if (followed !== undefined && location?.isName === true && !location.host.includes('.')) return undefined;
  const isKnown =
    followed?.isHostOnly !== true || (isHostEnough && location !== undefined && isOfOneOwner(location.host));
  return isKnown && others.every((other) => other?.host === location?.host) ? location : undefined;
};

/** Returns undefined for a text with several mailboxes or a `mailto:` link without any, which names no host. */
const locateUnlessMail = (text: string): Location | undefined => {
  const recipients = readRecipients(refang(text));
  return recipients === undefined || recipients.emails.length === 1 ? locateLink(text) : undefined;
};

/** Returns the key of the profile to which a link leads, or of the page, or of the host if it leads to neither. */
const pageKey = (location: Location): string => {
  const { host, isName, rest } = location;
  const path = pathOf(rest);
  const page = pageOf(location, path);
  const profile = isName && page?.isRequest !== true ? readProfileLink(host, path, rest) : undefined;
  const isOnlyProfile = profile !== undefined && !profile.isBelow && !profile.isUncertain;
  // A link that also carries another link says nothing of all of the profile.
  if (isOnlyProfile && carriedLinks(host, rest)?.hasOwnPage !== true) return `${profile.type}:${profile.name}`;
  if (page?.isShared !== true && page?.isRequest !== true && holdsUnreadLink(location))
    return `PAGE:${linkName(location)}`;
  return page === undefined ? urlKey(host) : `PAGE:${page.name}`;
};

/** Returns the asset that a content names if it is grouped, disputed or listed: the one that a report of it concerns. */
export const assetOf = (content: string, { type, name, opened = content }: ParsedContent): Asset => {
  const key = type === 'URL' || PROFILE_TYPES.has(type) ? assetKey({ type: 'URL', content: opened }) : '';
  return key.startsWith(PAGE) ? { type: 'PAGE', content: key.slice(PAGE.length) } : { type, content: name };
};

/**
 * Says whom a status of a page concerns, because of what else its link has: exactly this link (`one-link`), because it
 * holds a link that is not read, or also other links (`more-links`), because the key leaves out parameters or a route.
 */
export const scopeOf = ({ type, content }: Asset, key: string): 'one-link' | 'more-links' | undefined => {
  if ((type !== 'PAGE' && !key.startsWith(PAGE)) || !(/[?#]/.test(content) || HELD_LINK.test(content)))
    return undefined;
  const location = locateOnly(trimLikeUrlParser(content));
  if (location === undefined || dropsQuery(location)) return location && 'more-links';
  return holdsUnreadLink(location) ? 'one-link' : undefined;
};

const profileKey = (type: string, text: string): string => {
  const refanged = refang(text);
  if (/[/\\:.]/.test(refanged)) {
    const location = locateOnly(trimLikeUrlParser(text));
    const profile =
      location && (profileHost(location.host) ?? readProfileLink(location.host, pathOf(location.rest), location.rest));
    if (profile?.type === type) return `${type}:${profile.name}`;
    // A link to anything else has the key of what it leads to, so that a check finds it. `in/NAME` is no link.
    if (location !== undefined && (location.scheme !== '' || hostsProfiles(location.host))) {
      const key = pageKey(location);
      if (key !== urlKey(location.host)) return key;
    }
  }
  return `${type}:${profileName(type, trimPastedText(refanged) || refanged)}`;
};

/**
 * @returns the first 128 bits of the SHA-256 of the asset's key, in hex. The hash must never change for a key, because
 *   it is part of the names of streams
 */
export const assetHash = (asset: Asset): string => hashOfKey(assetKey(asset));

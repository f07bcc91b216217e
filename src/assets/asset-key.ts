import { createHash } from 'node:crypto';
import type { Asset } from './asset.js';
import { readAddress } from './address.js';
import { readIpfs } from './ipfs.js';
import { parseLocation, locateMeant, pathOf, refang, unwrap } from './location.js';
import { PROFILE_TYPES, profileHost, profileName, readProfileLink } from './profile.js';

export const urlKey = (host: string): string => `URL:${host}`;
/** A page without a path equals its host. */
export const pageKey = (host: string, path: string): string => (path === '' ? urlKey(host) : `PAGE:${host}${path}`);

/**
 * The asset's normalised key: equal for all spellings of one asset, different for two assets. Begins with the asset
 * type and a colon. Content that cannot be parsed as its type is used as sent, trimmed.
 */
export const assetKey = ({ type, content }: Asset): string => {
  const text = content.trim();
  const sent = unwrap(content);
  switch (type) {
    case 'URL': {
      const location = locateMeant(sent);
      return location ? urlKey(location.host) : `URL:${text}`;
    }
    case 'PAGE': {
      const location = locateMeant(sent);
      return location ? pageKey(location.host, pathOf(location.rest)) : `PAGE:${text}`;
    }
    case 'ADDRESS': {
      const address = readAddress(sent);
      return address ? addressKey(address.key) : `ADDRESS:${text}`;
    }
    case 'EMAIL':
      return `EMAIL:${readEmail(refang(sent)) ?? text.toLowerCase()}`;
    case 'IPFS':
      return `IPFS:${readIpfs(sent) ?? text}`;
    default:
      return PROFILE_TYPES.has(type) ? profileKey(type, text) : `${type}:${text}`;
  }
};

export const addressKey = (key: string): string => `ADDRESS:${key}`;

const profileKey = (type: string, text: string): string => {
  const meant = refang(text);
  if (/[/\\]|^[a-z]+:|\.t\.me$/i.test(meant)) {
    const location = locateMeant(unwrap(text).replace(/^tg:\/\//i, 'https://t.me/'));
    const profile =
      location && (profileHost(location.host) ?? readProfileLink(location.host, pathOf(location.rest), location.rest));
    if (profile?.type === type) return `${type}:${profile.name}`;
  }
  return `${type}:${profileName(type, meant)}`;
};

const EMAIL = /^(?:mailto:)?([^\s@"<>()[\],;:\\/]{1,64})@([^\s@/?#:]{1,255})(?:\?.*)?$/i;

/** @returns the address in lower case with a normalised host; undefined if it is not an e-mail address */
export const readEmail = (text: string): string | undefined => {
  const parts = EMAIL.exec(text);
  if (!parts) return undefined;
  const location = parseLocation(parts[2]!);
  return location?.isName ? `${parts[1]!.toLowerCase()}@${location.host}` : undefined;
};

/** @returns 32 hex digits (128 bits of SHA-256) of the asset's key; permanent, because it names the asset's stream */
export const assetHash = (asset: Asset): string => hashOfKey(assetKey(asset));

export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);

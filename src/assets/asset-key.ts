import { createHash } from 'node:crypto';
import { readAccount } from './accounts/account.js';
import type { Asset } from './asset.js';
import { locatePastedText, locatePastedLink } from './wrapping-links/follow-links.js';
import { parsePasted, trimPastedText } from './text/copied-text.js';
import { gatewayCid, readIpfs } from './ipfs.js';
import { parseLocation, pathOf, refang, trimLikeUrlParser } from './location.js';
import { profileName } from './profiles/bare-name.js';
import { PROFILE_TYPES, profileHost, readProfileLink } from './profiles/profile.js';

/**
 * The version must be incremented if the key of any valid content changes. Read models that store keys are then
 * rebuilt. `test/assets/pinned-keys.json` has keys of this version.
 */
export const KEY_VERSION = 3;

export const urlKey = (host: string): string => `URL:${host}`;
/** Returns the key of a page. The key of a page without a path is the key of the host. */
export const pageKey = (host: string, path: string): string => (path === '' ? urlKey(host) : `PAGE:${host}${path}`);

/**
 * Returns the normalized key of an asset: `TYPE:content`. The key is equal for all spellings of an asset and different
 * for different assets. Content that cannot be parsed as its type is only trimmed. Normalizing a key again returns the
 * same key.
 */
export const assetKey = ({ type, content }: Asset): string => {
  const text = content.trim();
  const trimmed = trimLikeUrlParser(content);
  switch (type) {
    case 'URL': {
      const location = locatePastedText(trimmed);
      return location ? urlKey(location.host) : `URL:${text}`;
    }
    case 'PAGE': {
      const location = locatePastedText(trimmed);
      return location ? pageKey(location.host, pathOf(location.rest)) : `PAGE:${text}`;
    }
    case 'ADDRESS': {
      const account = parsePasted(trimmed, readAccount);
      return account ? addressKey(account.key) : `ADDRESS:${text}`;
    }
    case 'EMAIL':
      return `EMAIL:${parsePasted(refang(trimmed), readEmail) ?? text.toLowerCase()}`;
    case 'IPFS':
      return `IPFS:${parsePasted(trimmed, readIpfs) ?? cidOfLink(trimmed) ?? text}`;
    default:
      return PROFILE_TYPES.has(type) ? profileKey(type, text) : `${type}:${text}`;
  }
};

export const addressKey = (key: string): string => `ADDRESS:${key}`;

const cidOfLink = (text: string): string | undefined => {
  const location = locatePastedText(text);
  return location && gatewayCid(location);
};

const profileKey = (type: string, text: string): string => {
  const refanged = refang(text);
  if (/[/\\:.]/.test(refanged)) {
    const location = locatePastedLink(trimLikeUrlParser(text));
    const profile =
      location && (profileHost(location.host) ?? readProfileLink(location.host, pathOf(location.rest), location.rest));
    if (profile?.type === type) return `${type}:${profile.name}`;
  }
  return `${type}:${profileName(type, trimPastedText(refanged) || refanged)}`;
};

/** A mailbox with a display name: `Name <someone@host>`. */
const MAILBOX = /^[^<>]{0,256}<([^<>\s]{3,320})>$/;
const EMAIL = /^(?:mailto:)?([^\s@"<>()[\],;:\\/]{1,64})@([^\s@/?#:]{1,255})(?:\?.*)?$/i;

/** @returns the address in lower case with a normalized host; undefined if the text is not an e-mail address */
export const readEmail = (text: string): string | undefined => {
  const parts = EMAIL.exec(text) ?? EMAIL.exec(MAILBOX.exec(text)?.[1] ?? '');
  if (!parts) return undefined;
  const location = parseLocation(parts[2]!);
  return location?.isName ? mailbox(parts[1]!.toLowerCase(), location.host) : undefined;
};

/** Normalizes a mailbox. Gmail ignores dots in the name, and everything after a plus sign. */
const mailbox = (name: string, host: string): string => {
  if (host !== 'gmail.com' && host !== 'googlemail.com') return `${name}@${host}`;
  const plain = name.replace(/\+.*$/, '').replaceAll('.', '');
  return `${plain === '' ? name : plain}@gmail.com`;
};

/**
 * @returns the first 128 bits of the SHA-256 of the asset's key, in hex. The hash must never change, because it is part
 *   of the names of streams.
 */
export const assetHash = (asset: Asset): string => hashOfKey(assetKey(asset));

export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);

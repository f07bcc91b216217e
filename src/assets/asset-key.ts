import { createHash } from 'node:crypto';
import { readAccount } from './accounts/account.js';
import type { Asset } from './asset.js';
import { locateCopied, locateCopiedLink } from './carriers/unfold.js';
import { readCopied, trimCopied } from './text/copied-text.js';
import { gatewayCid, readIpfs } from './ipfs.js';
import { parseLocation, pathOf, refang, unwrap } from './location.js';
import { profileName } from './profiles/bare-name.js';
import { PROFILE_TYPES, profileHost, readProfileLink } from './profiles/profile.js';

/**
 * Raised whenever the key of content that could be read before changes: read models that store keys are then rebuilt.
 * `test/assets/pinned-keys.json` holds keys of this version.
 */
export const KEY_VERSION = 3;

export const urlKey = (host: string): string => `URL:${host}`;
/** A page without a path equals its host. */
export const pageKey = (host: string, path: string): string => (path === '' ? urlKey(host) : `PAGE:${host}${path}`);

/**
 * The asset's normalised key: equal for all spellings of one asset, different for two assets. Begins with the asset
 * type and a colon. Content that cannot be parsed as its type is used as sent, trimmed. The key of a key's content is
 * that key again.
 */
export const assetKey = ({ type, content }: Asset): string => {
  const text = content.trim();
  const sent = unwrap(content);
  switch (type) {
    case 'URL': {
      const location = locateCopied(sent);
      return location ? urlKey(location.host) : `URL:${text}`;
    }
    case 'PAGE': {
      const location = locateCopied(sent);
      return location ? pageKey(location.host, pathOf(location.rest)) : `PAGE:${text}`;
    }
    case 'ADDRESS': {
      const account = readCopied(sent, readAccount);
      return account ? addressKey(account.key) : `ADDRESS:${text}`;
    }
    case 'EMAIL':
      return `EMAIL:${readCopied(refang(sent), readEmail) ?? text.toLowerCase()}`;
    case 'IPFS':
      return `IPFS:${readCopied(sent, readIpfs) ?? linkedCid(sent) ?? text}`;
    default:
      return PROFILE_TYPES.has(type) ? profileKey(type, text) : `${type}:${text}`;
  }
};

export const addressKey = (key: string): string => `ADDRESS:${key}`;

const linkedCid = (text: string): string | undefined => {
  const location = locateCopied(text);
  return location && gatewayCid(location);
};

const profileKey = (type: string, text: string): string => {
  const meant = refang(text);
  if (/[/\\:.]/.test(meant)) {
    const location = locateCopiedLink(unwrap(text));
    const profile =
      location && (profileHost(location.host) ?? readProfileLink(location.host, pathOf(location.rest), location.rest));
    if (profile?.type === type) return `${type}:${profile.name}`;
  }
  return `${type}:${profileName(type, trimCopied(meant) || meant)}`;
};

/** A mailbox with the name of its owner: `Name <someone@host>`. */
const MAILBOX = /^[^<>]{0,256}<([^<>\s]{3,320})>$/;
const EMAIL = /^(?:mailto:)?([^\s@"<>()[\],;:\\/]{1,64})@([^\s@/?#:]{1,255})(?:\?.*)?$/i;

/** @returns the address in lower case with a normalised host; undefined if it is not an e-mail address */
export const readEmail = (text: string): string | undefined => {
  const parts = EMAIL.exec(text) ?? EMAIL.exec(MAILBOX.exec(text)?.[1] ?? '');
  if (!parts) return undefined;
  const location = parseLocation(parts[2]!);
  return location?.isName ? mailbox(parts[1]!.toLowerCase(), location.host) : undefined;
};

/** Gmail delivers a name with dots, or with a tag after a plus sign, to the name without. */
const mailbox = (name: string, host: string): string => {
  if (host !== 'gmail.com' && host !== 'googlemail.com') return `${name}@${host}`;
  const plain = name.replace(/\+.*$/, '').replaceAll('.', '');
  return `${plain === '' ? name : plain}@gmail.com`;
};

/** @returns 32 hex digits (128 bits of SHA-256) of the asset's key; permanent, because it names the asset's stream */
export const assetHash = (asset: Asset): string => hashOfKey(assetKey(asset));

export const hashOfKey = (key: string): string => createHash('sha256').update(key).digest('hex').slice(0, 32);

import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { Pool } from 'pg';
import { formatInstant, MS_PER_SECOND } from '../events/instant.js';
import type { BuiltLists } from './built-lists.js';
import { markOf } from './history.js';
import { addLists, isUnchanged, type NewVersion, storeVersions } from './list-versions.js';
import { type ServedList, tokenOf } from './served-list.js';
import { changeBetween, checksumOf, requireSorted } from './sorted-hashes.js';

/** Signs versions with Ed25519. */
export interface Signer {
  readonly key: KeyObject;
  /** The public key: base64 of its 32 bytes. */
  readonly publicKey: string;
}

/**
 * @param pem a private key (PKCS 8)
 * @throws Error if the text is not a private key of Ed25519
 */
export const readSigner = (pem: string): Signer => {
  const key = createPrivateKey(pem);
  if (key.asymmetricKeyType !== 'ed25519')
    throw new Error(`The key is of ${key.asymmetricKeyType}; it must be of ed25519`);
  const { x } = createPublicKey(key).export({ format: 'jwk' });
  return { key, publicKey: Buffer.from(x!, 'base64url').toString('base64') };
};

/** The text that is signed. Clients build it from the fields of a response. */
export const signedText = (name: string, version: string, sha256: Buffer, cutAt: number): string =>
  [name, version, sha256.toString('hex'), formatInstant(cutAt)].join('\n');

const EMPTY = new Uint8Array();
const NO_CHANGE = { removed: EMPTY, added: EMPTY };
/** How old the instant of a signed version may become, so that clients can tell a list that is current from an old one. */
const SIGNED_EVERY_MS = 60 * 60_000;

interface Publication {
  /** When the build began, in ms by the database's clock. */
  readonly cutAt: number;
  readonly signer?: Signer | undefined;
  /**
   * Whether this process has not published the stored versions. They may have been restored, so they are signed again, for
   * clients that have a later version with the same content.
   */
  readonly isForeign?: boolean;
}

/**
 * Stores a version of each list that differs from the version in the database, all in one transaction. A list whose
 * stored versions are broken is stored whole.
 * @param served what this process has read from the database
 * @returns whether a version was stored; otherwise the lists are current
 * @throws VersionMoved if the database no longer has the versions of `served`; nothing was stored, and `served` must be
 *   read again
 * @throws RangeError if a built list is not sorted or has duplicates
 */
export const publishLists = async (
  pool: Pool,
  served: readonly ServedList[],
  built: BuiltLists,
  { cutAt, signer, isForeign = false }: Publication,
): Promise<boolean> => {
  const sha256OfEmpty = await checksumOf(EMPTY);
  const publicKey = signer?.publicKey ?? null;
  // Clients refuse what is older than what they have, also if the clock was set back. Some know versions by their second.
  const newest = Math.max(0, ...served.map(({ head }) => head?.cutAt ?? 0));
  const at = Math.max(cutAt, (Math.floor(newest / MS_PER_SECOND) + 1) * MS_PER_SECOND);
  const versions = await Promise.all(
    served.map(async ({ name, current, head, isBroken }): Promise<NewVersion> => {
      const hashes = built.lists.get(name) ?? EMPTY;
      requireSorted(hashes);
      const change = isBroken ? NO_CHANGE : changeBetween(current?.hashes ?? EMPTY, hashes);
      const sha256 = await checksumOf(hashes);
      const from = { number: head?.number ?? 0, sha256: head?.sha256 ?? sha256OfEmpty, cutAt: head?.cutAt ?? 0 };
      const version = { name, from, sha256, cutAt: at, signature: null, hashes, isReplaced: isBroken, ...change };
      const isSame = isUnchanged(version);
      if (isSame && !isForeign && cutAt < head!.cutAt + SIGNED_EVERY_MS && head!.publicKey === publicKey)
        return { ...version, cutAt: head!.cutAt, signature: head!.signature };
      if (signer === undefined) return version;
      const token = tokenOf({ number: from.number + (isSame ? 0 : 1), mark: markOf(sha256) });
      return { ...version, signature: sign(null, Buffer.from(signedText(name, token, sha256, at)), signer.key) };
    }),
  );
  await addLists(pool, sha256OfEmpty);
  await storeVersions(pool, versions, built, publicKey);
  return !versions.every(isUnchanged);
};

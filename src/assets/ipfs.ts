import { base36 } from 'multiformats/bases/base36';
import { base16 } from 'multiformats/bases/base16';
import { CID } from 'multiformats/cid';
import { readSegment } from './copied-text.js';
import { type Location, pathOf } from './location.js';

const ANY_BASE = base36.decoder.or(base16.decoder);

/** @returns the CID in version 1, base 32, whatever its form; undefined if the text is not a CID */
export const readCid = (text: string): string | undefined => {
  if (text.length < 46 || text.length > 128 || !/^[A-Za-z0-9]+$/.test(text)) return undefined;
  try {
    // Host names are case-insensitive, so only case-insensitive bases are recognised there.
    const cid = /^[kKfF]/.test(text)
      ? CID.parse(text.toLowerCase(), ANY_BASE)
      : CID.parse(text.startsWith('B') ? text.toLowerCase() : text);
    return cid.toV1().toString();
  } catch {
    return undefined;
  }
};

/** A scheme, or the path that gateways and command lines use; some programs write both. */
const NATIVE = /^(?:(?:ipfs|ipns|dweb):\/*(?:ip[fn]s\/+)?|\/+ip[fn]s\/+)([^/?#]+)/i;

export const isNativeIpfs = (text: string): boolean => NATIVE.test(text);

const NATIVE_SCHEME = /^(?:ipfs|ipns|dweb)$/;

/** Reads a CID, or a link or path without a host that begins with one. */
export const readIpfs = (text: string): string | undefined => readCid(NATIVE.exec(text)?.[1] ?? text);

/** A gateway's host name beginning with a CID. */
const GATEWAY_HOST = /^([a-z0-9]{46,63})\./;
const GATEWAY_PATH = /^\/+ip[fn]s\/+([^/]+)/i;

/**
 * The CID that a gateway serves: the one in its host name, else the first segment of the path. Nothing deeper counts:
 * whoever publishes content can name a folder in it `ipfs/CID`.
 * @param path from `pathOf`
 */
export const gatewayCid = ({ host, isName, scheme, rest }: Location, path = pathOf(rest)): string | undefined => {
  // `ipfs://NAME/ipfs/CID` is a folder of what NAME stands for.
  if (NATIVE_SCHEME.test(scheme)) return undefined;
  const inHost = isName ? GATEWAY_HOST.exec(host)?.[1] : undefined;
  const cid = inHost === undefined ? undefined : readCid(inHost);
  if (cid !== undefined) return cid;
  const inPath = GATEWAY_PATH.exec(path)?.[1];
  return inPath === undefined ? undefined : readCid(readSegment(inPath));
};

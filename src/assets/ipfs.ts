import { base36 } from 'multiformats/bases/base36';
import { base16 } from 'multiformats/bases/base16';
import { CID } from 'multiformats/cid';
import { readSegment } from './text/copied-text.js';
import { type Location, pathOf } from './location.js';

const ANY_BASE = base36.decoder.or(base16.decoder);

/** Characters of the shortest CID, but for one that holds its content itself. */
const LEAST_CID = 46;
const LEAST_INLINE_CID = 8;

/** @returns the CID in version 1, base 32, whatever its form; undefined if the text is not a CID */
const readCid = (text: string, least = LEAST_CID): string | undefined => {
  if (text.length < least || text.length > 128 || !/^[A-Za-z0-9]+$/.test(text)) return undefined;
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
/** The same below `ipfs`, where the CID of content that it holds itself is shorter. */
const SUBDOMAIN_HOST = /(?:^|\.)([a-z0-9]{8,63})\.ipfs\./;
/**
 * A host of one publisher, whose content a gateway serves: below `ipns`, below a name service (`NAME.eth.limo`), and
 * below gateways that serve nothing else there.
 */
const PUBLISHER_HOST =
  /[^.]\.ipns\.|\.(?:eth|gno|sol|bnb|crypto|wei)\.[a-z]{2,}$|\.(?:dweb\.link|w3s\.link|nftstorage\.link|cf-ipfs\.com|inbrowser\.(?:link|dev)|on-fleek\.app|fleek\.co|4everland\.app)$/;

/** The CID in a gateway's host name. */
const cidOfHost = (host: string): string | undefined => {
  const below = host.includes('.ipfs.') ? SUBDOMAIN_HOST.exec(host)?.[1] : undefined;
  if (below !== undefined) return readCid(below, LEAST_INLINE_CID);
  // Most hosts begin with a shorter label. Without looking first, the pattern takes a tenth of a look-up in a list.
  return host.indexOf('.') < LEAST_CID ? undefined : readCid(GATEWAY_HOST.exec(host)?.[1] ?? '');
};

const GATEWAY_PATH = /^\/+ip[fn]s\/+([^/]+)/i;

/**
 * The CID that a gateway serves: the one in its host name, else the first segment of the path. Nothing deeper counts,
 * and no path below a host of one publisher: whoever publishes content can name a folder in it `ipfs/CID`.
 * @param path from `pathOf`
 */
export const gatewayCid = ({ host, isName, scheme, rest }: Location, path = pathOf(rest)): string | undefined => {
  // `ipfs://NAME/ipfs/CID` is a folder of what NAME stands for.
  if (NATIVE_SCHEME.test(scheme)) return undefined;
  const inHost = isName ? cidOfHost(host) : undefined;
  if (inHost !== undefined) return inHost;
  const inPath = GATEWAY_PATH.exec(path)?.[1];
  return inPath === undefined || (isName && PUBLISHER_HOST.test(host)) ? undefined : readCid(readSegment(inPath));
};

import { base36 } from 'multiformats/bases/base36';
import { base16 } from 'multiformats/bases/base16';
import { CID } from 'multiformats/cid';
import { readSegment } from './copied-text.js';
import { type Location, MAX_NAME_LENGTH, pathOf } from './location.js';

const ANY_BASE = base36.decoder.or(base16.decoder);

/** Minimum number of characters of a CID, except for inline CIDs, which contain the content. */
const MIN_CID_LENGTH = 46;
const MIN_INLINE_CID_LENGTH = 8;

/** @returns the CID as version 1 in base 32; undefined if the text is not a CID */
const readCid = (text: string, minLength = MIN_CID_LENGTH): string | undefined => {
  if (text.length < minLength || text.length > 128 || !/^[A-Za-z0-9]+$/.test(text)) return undefined;
  try {
    // Case-insensitive bases may be in upper case.
    const cid = /^[kKfF]/.test(text)
      ? CID.parse(text.toLowerCase(), ANY_BASE)
      : CID.parse(text.startsWith('B') ? text.toLowerCase() : text);
    return cid.toV1().toString();
  } catch {
    return undefined;
  }
};

/** Matches an IPFS scheme, an `/ipfs/` path, or both. */
const NATIVE = /^(?:(?:ipfs|ipns|dweb):\/*(?:ip[fn]s\/+)?|\/+ip[fn]s\/+)([^/?#]+)/i;

export const isNativeIpfs = (text: string): boolean => NATIVE.test(text);

const NATIVE_SCHEME = /^(?:ipfs|ipns|dweb)$/;

/** Parses a CID, or a link or path without a host that begins with a CID. */
export const readIpfs = (text: string): string | undefined => readCid(NATIVE.exec(text)?.[1] ?? text);

/** Matches a gateway host that begins with a CID. */
const GATEWAY_HOST = /^([a-z0-9]{46,63})\./;
/** Matches a gateway host with `CID.ipfs.`. The CID may be a short inline CID. */
const SUBDOMAIN_HOST = /(?:^|\.)([a-z0-9]{8,63})\.ipfs\./;
/**
 * Matches a gateway host that serves the content of one publisher: a subdomain of `ipns`, of a name service
 * (`NAME.eth.limo`), or of a gateway that serves only subdomains of publishers.
 */
const PUBLISHER_HOST =
  /[^.]\.ipns\.|\.(?:eth|gno|sol|bnb|crypto|wei)\.[a-z]{2,}$|\.(?:dweb\.link|w3s\.link|nftstorage\.link|cf-ipfs\.com|inbrowser\.(?:link|dev)|on-fleek\.app|fleek\.co|4everland\.app)$/;

/** Returns the CID in the host name of a gateway. */
const cidOfHost = (host: string): string | undefined => {
  if (host.length > MAX_NAME_LENGTH) return undefined;
  const below = host.includes('.ipfs.') ? SUBDOMAIN_HOST.exec(host)?.[1] : undefined;
  if (below !== undefined) return readCid(below, MIN_INLINE_CID_LENGTH);
  // This test is for speed: most hosts begin with a shorter label, and matching the pattern takes a tenth of the time
  // of a list lookup.
  return host.indexOf('.') < MIN_CID_LENGTH ? undefined : readCid(GATEWAY_HOST.exec(host)?.[1] ?? '');
};

const GATEWAY_PATH = /^\/+ip[fn]s\/+([^/]+)/i;

/** Public gateways, which serve the content that the CID names. */
const GATEWAYS = new RegExp(
  `(?:^|\\.)(?:${'ipfs.io dweb.link cloudflare-ipfs.com cf-ipfs.com gateway.pinata.cloud nftstorage.link w3s.link 4everland.io gateway.ipfs.io ipfs.fleek.co ipfs.infura.io infura-ipfs.io gateway.lighthouse.storage ipfs.filebase.io trustless-gateway.link ipfs.thirdwebcdn.com crustipfs.xyz inbrowser.link inbrowser.dev'
    .replaceAll('.', '\\.')
    .replaceAll(' ', '|')})$`,
);

/** Content that a gateway serves. */
export interface ServedContent {
  readonly cid: string;
  /** Whether the host is a known gateway. The owner of any other host can serve something else. */
  readonly isTrusted: boolean;
}

/**
 * Returns the CID that a gateway serves: the CID in the host name or, if the host name has no CID, the CID in the path
 * after `/ipfs/`. Deeper segments and paths on hosts of one publisher are ignored, because a publisher can name a
 * folder `ipfs/CID`.
 * @param path the result of `pathOf`
 */
export const gatewayCid = (
  { host, isName, scheme, rest }: Location,
  path = pathOf(rest),
): ServedContent | undefined => {
  // `ipfs://NAME/ipfs/CID` is a folder in the content of NAME.
  if (NATIVE_SCHEME.test(scheme)) return undefined;
  const cid = (isName ? cidOfHost(host) : undefined) ?? cidOfPath(host, isName, path);
  return cid === undefined ? undefined : { cid, isTrusted: isName && GATEWAYS.test(host) };
};

const cidOfPath = (host: string, isName: boolean, path: string): string | undefined => {
  const inPath = GATEWAY_PATH.exec(path)?.[1];
  return inPath === undefined || (isName && PUBLISHER_HOST.test(host)) ? undefined : readCid(readSegment(inPath));
};

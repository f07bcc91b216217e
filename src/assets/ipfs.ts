import { base36 } from 'multiformats/bases/base36';
import { base16 } from 'multiformats/bases/base16';
import { CID } from 'multiformats/cid';

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

/** Parses what follows `ipfs://` or `/ipfs/`, or precedes `.ipfs.` in a gateway's host name. */
export const readIpfs = (text: string): string | undefined => {
  const link = /^(?:ipfs:\/*|.{0,1024}\/ipfs\/)([A-Za-z0-9]{46,128})(?:[/?#]|$)/i.exec(text)?.[1];
  if (link !== undefined) return readCid(link);
  const host = /^(?:https?:\/\/)?([a-z0-9]{46,63})\.ipfs\./i.exec(text)?.[1];
  return readCid(host ?? text);
};

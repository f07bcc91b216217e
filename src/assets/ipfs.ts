import { base36 } from 'multiformats/bases/base36';
import { base16 } from 'multiformats/bases/base16';
import { CID } from 'multiformats/cid';

const ANY_BASE = base36.decoder.or(base16.decoder);

/** @returns the CID as version 1 in base 32, whatever it was written in; undefined where the text is none */
export const readCid = (text: string): string | undefined => {
  if (text.length < 46 || text.length > 128 || !/^[A-Za-z0-9]+$/.test(text)) return undefined;
  try {
    // A host name has lost its letter case, which is why only the bases that ignore it are found there.
    const cid = /^[kKfF]/.test(text)
      ? CID.parse(text.toLowerCase(), ANY_BASE)
      : CID.parse(text.startsWith('B') ? text.toLowerCase() : text);
    return cid.toV1().toString();
  } catch {
    return undefined;
  }
};

/** What follows `ipfs://`, `/ipfs/`, or stands before `.ipfs.` in a gateway's host name. */
export const readIpfs = (text: string): string | undefined => {
  const link = /^(?:ipfs:\/*|.{0,1024}\/ipfs\/)([A-Za-z0-9]{46,128})(?:[/?#]|$)/i.exec(text)?.[1];
  if (link !== undefined) return readCid(link);
  const host = /^(?:https?:\/\/)?([a-z0-9]{46,63})\.ipfs\./i.exec(text)?.[1];
  return readCid(host ?? text);
};

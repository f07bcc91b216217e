import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { formatInstant } from '../events/instant.js';
import { SharedResults } from '../flow/shared-work.js';
import { limit } from '../limits.js';
import type { VersionMark } from './history.js';
import { encodeRice, type RiceCoded, wordsOfHashes, wordsOfIndices } from './rice.js';
import type { CurrentList, ServedList } from './served-list.js';
import { type Change, removalIndices } from './sorted-hashes.js';

/** How long a client should wait before it asks again without `Prefer: wait`. */
export const MINIMUM_WAIT_SECONDS = 5;
const MAX_BYTES = limit('responses of lists in memory', 8 * 1024 * 1024, 'bytes', 'process', 'they are made again');
/** Hashes cannot be compressed, but their base64 can. */
const GZIP_LEVEL = 1;

const compress = promisify(gzip);

const codedJson = ({ firstValue, encodedData, ...rest }: RiceCoded): object => ({
  firstValue: String(firstValue),
  ...rest,
  encodedData: Buffer.from(encodedData.buffer, encodedData.byteOffset, encodedData.byteLength).toString('base64'),
});

/** Writes a list or an update. A part without entries is absent, because Rice coding has no form of it. */
const textOf = async ({ name, version, head }: CurrentList, change: Change | undefined): Promise<string> => {
  const { removed, added } = change ?? { removed: new Uint8Array(), added: version.hashes };
  const removals = removalIndices(version.hashes, { removed, added });
  return JSON.stringify({
    name,
    version: version.token,
    partialUpdate: change !== undefined,
    ...(removals.length > 0 && { removals: codedJson(await encodeRice(wordsOfIndices(removals), 32)) }),
    ...(added.length > 0 && { additions: codedJson(await encodeRice(wordsOfHashes(added), 64)) }),
    sha256: version.sha256.toString('hex'),
    cutAt: formatInstant(head.cutAt),
    ...(head.signature !== null && { signature: head.signature.toString('base64') }),
    minimumWaitSeconds: MINIMUM_WAIT_SECONDS,
  });
};

/** The JSON of lists and updates. Each is made and compressed once, and shared by the requests for it. */
export class ListBodies {
  private readonly made = new SharedResults<Buffer>(MAX_BYTES, ({ length }) => length);
  private readonly bytes = new WeakMap<Uint8Array, Buffer>();

  /** Returns the hashes as one buffer for all requests. */
  bytesOf(hashes: Uint8Array): Buffer {
    const bytes =
      this.bytes.get(hashes) ?? Buffer.from(hashes.buffer as ArrayBuffer, hashes.byteOffset, hashes.byteLength);
    this.bytes.set(hashes, bytes);
    return bytes;
  }

  /**
   * @param since the version that the client has; undefined if it needs the whole list
   * @returns JSON, as a buffer that must not be changed
   */
  jsonOf(list: ServedList, current: CurrentList, since: VersionMark | undefined, isGzip: boolean): Promise<Buffer> {
    const { name, version, head } = current;
    const isKnown = since !== undefined && list.canUpdate(since);
    const key = [name, version.token, head.cutAt, isKnown ? `${since.number}` : '', isGzip].join(' ');
    return this.made.get(key, async () => {
      const change = isKnown ? list.changeSince(since) : undefined;
      const json = Buffer.from(await textOf(current, await change));
      return isGzip ? compress(json, { level: GZIP_LEVEL }) : json;
    });
  }
}

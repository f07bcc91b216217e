import { randomBytes } from 'node:crypto';

/** Random per process, so that nobody can craft entries or hosts that collide. */
const SEED = randomBytes(4).readUInt32LE();
const DOT = 0x2e;
/** A DNS name has at most 127 labels. */
const MOST = 128;

const finish = (hash: number): number => {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
};

const step = (hash: number, character: number): number =>
  Math.imul(((hash << 13) | (hash >>> 19)) ^ character, 0x9e3779b1) + 0x52dce729;

/** The hash of a whole text within a pool of bytes. */
export const hashOf = (bytes: Uint8Array, start: number, end: number, seed = SEED): number => {
  let hash = seed;
  for (let index = end - 1; index >= start; index -= 1) hash = step(hash, bytes[index]!);
  return finish(hash);
};

/** The hash of a whole ASCII text. */
export const hashOfText = (text: string): number => {
  let hash = SEED;
  for (let index = text.length - 1; index >= 0; index -= 1) hash = step(hash, text.charCodeAt(index));
  return finish(hash);
};

/**
 * For each domain above a host, down to two labels: where it begins, and the hash of the prefix with it, as of
 * `hashOfText`. One pass from the right; shortest domain first.
 * @param from where the host is cut off
 */
export const hashesAbove = (host: string, from: number, prefix: string): { start: number; hash: number }[] => {
  const above: { start: number; hash: number }[] = [];
  let hash = SEED;
  let dots = 0;
  for (let index = host.length - 1; index >= Math.max(0, from); index -= 1) {
    const character = host.charCodeAt(index);
    if (character === DOT) {
      dots += 1;
      let whole = hash;
      for (let at = prefix.length - 1; at >= 0; at -= 1) whole = step(whole, prefix.charCodeAt(at));
      if (dots > 1) above.push({ start: index + 1, hash: finish(whole) });
    }
    hash = step(hash, character);
  }
  return above;
};

/**
 * The hashes of a string and of every domain above it down to two labels, in one pass from the right. Overwritten by the
 * next `read`, so that a check allocates nothing: use them before awaiting anything.
 */
export class SuffixHashes {
  /** Shortest suffix first; the last is the text itself. */
  count = 0;
  readonly starts = new Uint16Array(MOST);
  readonly hashes = new Uint32Array(MOST);
  /** What the list being asked holds of each; overwritten by the next list. */
  readonly flags = new Uint8Array(MOST);

  read(text: string, withParents: boolean): void {
    let hash = SEED;
    let count = 0;
    let dots = withParents ? 0 : -MOST;
    for (let index = text.length - 1; index >= 0; index -= 1) {
      const character = text.charCodeAt(index);
      if (character === DOT) {
        dots += 1;
        // The last label alone is a top-level domain, which lists cannot contain.
        if (dots > 1 && count < MOST - 1) {
          this.starts[count] = index + 1;
          this.hashes[count] = finish(hash);
          count += 1;
        }
      }
      hash = step(hash, character);
    }
    this.starts[count] = 0;
    this.hashes[count] = finish(hash);
    this.count = count + 1;
  }
}

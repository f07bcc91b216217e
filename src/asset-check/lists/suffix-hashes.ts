import { randomBytes } from 'node:crypto';

/** The seed is random in each process, so that an attacker cannot craft entries or hosts whose hashes collide. */
const SEED = randomBytes(4).readUInt32LE();
const DOT = 0x2e;
/** A DNS name has at most 127 labels. */
const MAX_LABELS = 128;

const finish = (hash: number): number => {
  let h = hash ^ (hash >>> 16);
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
};

const step = (hash: number, character: number): number =>
  Math.imul(((hash << 13) | (hash >>> 19)) ^ character, 0x9e3779b1) + 0x52dce729;

/** Hashes the bytes from `start` to `end`. */
export const hashOf = (bytes: Uint8Array, start: number, end: number, seed = SEED): number => {
  let hash = seed;
  for (let index = end - 1; index >= start; index -= 1) hash = step(hash, bytes[index]!);
  return finish(hash);
};

/** Hashes an ASCII text. */
export const hashOfText = (text: string): number => {
  let hash = SEED;
  for (let index = text.length - 1; index >= 0; index -= 1) hash = step(hash, text.charCodeAt(index));
  return finish(hash);
};

/**
 * Returns the parent domains of a host that have at least two labels, shortest first. Each item has the index in the
 * host where the domain starts, and `hashOfText(prefix + domain)`. Makes one pass over the host from right to left.
 * @param from index in the host where the pass ends
 */
export const parentHashes = (host: string, from: number, prefix: string): { start: number; hash: number }[] => {
  const parents: { start: number; hash: number }[] = [];
  let hash = SEED;
  let dots = 0;
  for (let index = host.length - 1; index >= Math.max(0, from); index -= 1) {
    const character = host.charCodeAt(index);
    if (character === DOT) {
      dots += 1;
      let keyHash = hash;
      for (let at = prefix.length - 1; at >= 0; at -= 1) keyHash = step(keyHash, prefix.charCodeAt(at));
      if (dots > 1) parents.push({ start: index + 1, hash: finish(keyHash) });
    }
    hash = step(hash, character);
  }
  return parents;
};

/**
 * The hashes of a text and of each of its parent domains with at least two labels, computed in one pass from right to
 * left. To avoid allocations, the next `read` overwrites the hashes, so a caller must use them before it awaits
 * anything.
 */
export class SuffixHashes {
  /** Number of suffixes, shortest first; the last suffix is the text itself. */
  count = 0;
  readonly starts = new Uint16Array(MAX_LABELS);
  readonly hashes = new Uint32Array(MAX_LABELS);
  /** The flags of each suffix in the list that is being searched. The search of the next list overwrites the flags. */
  readonly flags = new Uint8Array(MAX_LABELS);

  read(text: string, withParents: boolean): void {
    let hash = SEED;
    let count = 0;
    let dots = withParents ? 0 : -MAX_LABELS;
    for (let index = text.length - 1; index >= 0; index -= 1) {
      const character = text.charCodeAt(index);
      if (character === DOT) {
        dots += 1;
        // A single label is a top-level domain, which lists cannot contain.
        if (dots > 1 && count < MAX_LABELS - 1) {
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

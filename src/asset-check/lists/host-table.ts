import { randomBytes } from 'node:crypto';
import { CooperativeYield } from '../../flow/time.js';

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
  /** The rule that decides about the text itself, if it is no entry for the text and what is below it. */
  rule: string | undefined;

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

export const BLOCKED = 1;
export const ALLOWED = 2;
const BOTH = BLOCKED | ALLOWED;

/** If an entry is both, ALLOWED counts. */
export const statusOf = (flags: number): 'ALLOWED' | 'BLOCKED' => (flags & ALLOWED ? 'ALLOWED' : 'BLOCKED');

/** Flags that are shifted left by this number of bits apply to the subdomains of a host, not to the host itself. */
export const SUBDOMAINS_SHIFT = 3;
const STATUS = BOTH | (BOTH << SUBDOMAINS_SHIFT);
/** Set if the source spelled the entry differently. The spelling of the source then follows the normalized text. */
const HAS_SPELLING = 4;

/** Set if a page is named without the parameters of its link, so that the entry concerns the page with any parameters. */
export const ANY_QUERY = 32;

/** Of several ranks for the same text, only the flags of the highest count, none included. */
export type Rank = 0 | 1 | 2;
const RANK_SHIFT = 6;
const RANKS = 3 << RANK_SHIFT;
export const withRank = (flags: number, rank: Rank): number => flags | (rank << RANK_SHIFT);
/** Whether the flags have the rank that also precedes all lower ranks of the hosts below. */
export const isOfTopRank = (flags: number): boolean => flags >> RANK_SHIFT === 2;

/** Before the host of a rule that concerns exactly this host, and none below. */
export const EXACTLY = '|';

/** The flags of two entries for the same text: those of the higher rank, or of both. */
export const ofHigherRank = (one: number, other: number): number => {
  const rank = (one & RANKS) - (other & RANKS);
  return rank === 0 ? one | other : rank > 0 ? one : other;
};

/** The flags that apply to exactly the host of an entry. */
export const flagsForHost = (flags: number): number => flags & BOTH;
/** The flags that apply to the subdomains of an entry. */
export const flagsForSubdomains = (flags: number): number => (flags | (flags >> SUBDOMAINS_SHIFT)) & BOTH;

/** Maximum length of a host or an account. */
export const MAX_ENTRY_LENGTH = 255;
const HEADER_BYTES = 2;
/** Slots of the hash table. With fewer slots per entry, probe sequences would be too long. */
const SLOTS_PER_ENTRY = 1.5;
const TWO_TO_32 = 4_294_967_296;
/** At most one in 16 bits of the filter is set, so that at most one in 16 unlisted hosts passes the filter. */
const FILTER_BITS_PER_ENTRY = 16;
const ENTRIES_PER_CHECK = 256;

/**
 * Hosts and accounts with their flags, in about 30 bytes each: a pool of texts, and an open-addressing table of offsets
 * with one byte of each hash, so that few probes compare texts. Most hosts are not listed, so a lookup first asks a
 * Bloom filter that fits into the CPU cache. Texts are compared byte by byte, so that equal hashes do not confuse two
 * entries.
 */
export class HostTable {
  private readonly scale: number;
  private readonly mask: number;

  constructor(
    /**
     * The records. Each record has a length, flags and a text; with the flag `HAS_SPELLING`, the length and the bytes
     * of the source's spelling follow. Byte 0 is unused, because offset 0 marks an empty slot.
     */
    private readonly texts: Uint8Array,
    private readonly slots: Uint32Array,
    private readonly fingerprints: Uint8Array,
    /** A Bloom filter; its number of bits is a power of two. */
    private readonly filter: Uint32Array,
    /** Number of distinct entries. */
    readonly size: number,
  ) {
    this.scale = slots.length / TWO_TO_32;
    this.mask = filter.length - 1;
  }

  get bytes(): number {
    return this.texts.byteLength + this.slots.byteLength + this.fingerprints.byteLength + this.filter.byteLength;
  }

  /**
   * Frees the memory of the table at once. Without this call, the memory would stay allocated until the next garbage
   * collection, possibly after the next list is loaded. The table is empty afterwards. On Node 20 the call has no
   * effect.
   */
  free(): void {
    for (const { buffer } of [this.texts, this.slots, this.fingerprints, this.filter])
      (buffer as Partial<Pick<ArrayBuffer, 'transfer'>>).transfer?.(0);
  }

  /**
   * Returns the flags of the entry `text.slice(start)`; 0 if the entry is not listed.
   * @param hash the hash of `text.slice(start)`
   */
  find(text: string, start: number, hash: number): number {
    const offset = this.offsetOf(text, start, hash);
    const flags = offset === 0 ? 0 : this.texts[offset + 1]!;
    return (flags & STATUS) === 0 ? 0 : flags & ~HAS_SPELLING;
  }

  /** Returns the source's spelling of an entry that `find` found. */
  originalSpelling(text: string, start: number, hash: number): string {
    const offset = this.offsetOf(text, start, hash);
    const end = offset + HEADER_BYTES + this.texts[offset]!;
    if ((this.texts[offset + 1]! & HAS_SPELLING) === 0) return text.slice(start);
    return Buffer.from(this.texts.subarray(end + 1, end + 1 + this.texts[end]!)).toString();
  }

  /** Returns the flags and the source's spelling of an entry; undefined if it is not listed. */
  entryOf(key: string): { readonly flags: number; readonly spelling: string } | undefined {
    const hash = hashOfText(key);
    const flags = this.find(key, 0, hash);
    return flags === 0 ? undefined : { flags, spelling: this.originalSpelling(key, 0, hash) };
  }

  /** Yields each entry in the order of the list, as a range of the text pool. A repeated entry may be yielded again. */
  *entries(): Generator<readonly [texts: Uint8Array, start: number, end: number]> {
    const { texts } = this;
    // The length is 0 once the table is freed, which may happen while a reader waits.
    for (let offset = 1; offset < texts.length; offset = afterEntry(texts, offset))
      yield [texts, offset + HEADER_BYTES, offset + HEADER_BYTES + texts[offset]!];
  }

  /** Returns the offset of a record; 0 if the text is not listed. */
  private offsetOf(text: string, start: number, hash: number): number {
    if ((this.filter[(hash >>> 5) & this.mask]! & (1 << hash)) === 0) return 0;
    const { slots, fingerprints } = this;
    const fingerprint = hash & 0xff;
    let slot = Math.floor(hash * this.scale);
    for (let offset = slots[slot]!; offset !== 0; offset = slots[slot]!) {
      if (fingerprints[slot] === fingerprint && this.matchesAt(offset, text, start)) return offset;
      slot += 1;
      if (slot === slots.length) slot = 0;
    }
    return 0;
  }

  private matchesAt(offset: number, text: string, start: number): boolean {
    const { texts } = this;
    const length = texts[offset]!;
    if (length !== text.length - start) return false;
    for (let index = 0, from = offset + HEADER_BYTES; index < length; index += 1)
      if (texts[from + index] !== text.charCodeAt(start + index)) return false;
    return true;
  }
}

/** Returns the entry that begins at a place of the text pool, as `entries` yields it. */
export const entryAt = (texts: Uint8Array, start: number): { readonly text: string; readonly flags: number } => ({
  text: Buffer.from(texts.buffer, texts.byteOffset + start, texts[start - 2]).toString('latin1'),
  flags: texts[start - 1]! & ~HAS_SPELLING,
});

/** Yields the text of each entry. A repeated entry may be yielded again. */
export function* textsOf(table: HostTable): Generator<string> {
  for (const [texts, start] of table.entries()) yield entryAt(texts, start).text;
}

/** Collects entries of at most 255 ASCII characters each. */
export class HostTableBuilder {
  private texts: Uint8Array;
  private end = 1;
  private entries = 0;

  get isEmpty(): boolean {
    return this.entries === 0;
  }

  /**
   * @param expected the expected number of bytes of text. A high estimate costs nothing, because unused memory pages
   *   never become resident
   */
  constructor(expected = 0) {
    this.texts = new Uint8Array(Math.max(1 << 12, Math.ceil(expected * 2.3)));
  }

  /** @param spelling the source's spelling; a spelling of more than 255 bytes is ignored */
  add(text: string, flags: number, spelling = text): void {
    const original = spelling === text ? undefined : Buffer.from(spelling);
    const isKept = original !== undefined && original.length <= MAX_ENTRY_LENGTH;
    const needed = this.end + HEADER_BYTES + text.length + (isKept ? 1 + original.length : 0);
    if (needed > this.texts.length) {
      const larger = new Uint8Array(Math.max(needed, Math.ceil(this.texts.length * 1.6)));
      larger.set(this.texts);
      this.texts = larger;
    }
    const { texts, end } = this;
    texts[end] = text.length;
    texts[end + 1] = isKept ? flags | HAS_SPELLING : flags;
    for (let index = 0; index < text.length; index += 1) texts[end + HEADER_BYTES + index] = text.charCodeAt(index);
    if (isKept) {
      texts[end + HEADER_BYTES + text.length] = original.length;
      texts.set(original, end + HEADER_BYTES + text.length + 1);
    }
    this.end = needed;
    this.entries += 1;
  }

  /** Builds the table. Equal entries become one entry with the flags of those of the highest rank. */
  async build(cooperativeYield = new CooperativeYield()): Promise<HostTable> {
    const texts = this.texts.subarray(0, this.end);
    const capacity = Math.max(16, Math.ceil(this.entries * SLOTS_PER_ENTRY));
    const slots = new Uint32Array(capacity);
    const fingerprints = new Uint8Array(capacity);
    const filter = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(1, (this.entries * FILTER_BITS_PER_ENTRY) / 32))));
    const scale = capacity / TWO_TO_32;
    let distinct = 0;
    let added = 0;
    for (let offset = 1; offset < this.end; offset = afterEntry(texts, offset)) {
      const hash = hashOf(texts, offset + HEADER_BYTES, offset + HEADER_BYTES + texts[offset]!);
      const fingerprint = hash & 0xff;
      let slot = Math.floor(hash * scale);
      while (slots[slot] !== 0 && !(fingerprints[slot] === fingerprint && isSame(texts, slots[slot]!, offset)))
        slot = slot + 1 === capacity ? 0 : slot + 1;
      if (slots[slot] === 0) {
        slots[slot] = offset;
        fingerprints[slot] = fingerprint;
        filter[(hash >>> 5) & (filter.length - 1)]! |= 1 << hash;
        distinct += Number(counts(texts, offset));
      } else {
        const first = slots[slot]! + 1;
        distinct -= Number(counts(texts, slots[slot]!));
        const rank = (texts[offset + 1]! & RANKS) - (texts[first]! & RANKS);
        if (rank > 0) texts[first]! &= ~(STATUS | RANKS);
        if (rank >= 0) texts[first]! |= texts[offset + 1]! & (STATUS | RANKS);
        if ((texts[offset + 1]! & ANY_QUERY) === 0) texts[first]! &= ~ANY_QUERY;
        distinct += Number(counts(texts, slots[slot]!));
      }
      added += 1;
      if (added % ENTRIES_PER_CHECK === 0 && cooperativeYield.isDue()) await cooperativeYield.yieldNow();
    }
    return new HostTable(texts, slots, fingerprints, filter, distinct);
  }
}

/** Whether an entry says anything; one that does not cancels others. */
const counts = (texts: Uint8Array, offset: number): boolean => (texts[offset + 1]! & STATUS) !== 0;

const afterEntry = (texts: Uint8Array, offset: number): number => {
  const end = offset + HEADER_BYTES + texts[offset]!;
  return texts[offset + 1]! & HAS_SPELLING ? end + 1 + texts[end]! : end;
};

const isSame = (texts: Uint8Array, one: number, other: number): boolean => {
  const length = texts[one]!;
  if (length !== texts[other]) return false;
  for (let index = HEADER_BYTES; index < HEADER_BYTES + length; index += 1)
    if (texts[one + index] !== texts[other + index]) return false;
  return true;
};

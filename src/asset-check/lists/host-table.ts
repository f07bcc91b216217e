import { hashOf } from './suffix-hashes.js';
import { Yielder } from '../../flow/yielder.js';

export const BLOCKED = 1;
export const ALLOWED = 2;
const BOTH = BLOCKED | ALLOWED;
/** Flags shifted by this apply to what is below the entry's host, not to the host itself. */
export const BELOW = 3;
const STATUS = BOTH | (BOTH << BELOW);
/** The source wrote the entry differently; its spelling follows the normalised text. */
const WRITTEN = 4;

/** What an entry says of exactly its own host. */
export const ofItself = (flags: number): number => flags & BOTH;
/** What an entry says of the hosts below. */
export const ofBelow = (flags: number): number => (flags | (flags >> BELOW)) & BOTH;

/** Anything longer is neither a host nor an address. */
export const MAX_ENTRY_LENGTH = 255;
const HEADER = 2;
/** Longer probe sequences are slower than the memory they save is worth. */
const SLOTS_PER_ENTRY = 1.5;
const TWO_TO_32 = 4_294_967_296;
/** One in sixteen filter bits is set, so one in sixteen unlisted hosts gets past the filter. */
const FILTER_BITS_PER_ENTRY = 16;
const CHECK_EVERY = 256;

/**
 * Hosts and addresses with their flags, in about 30 bytes each: one pool of texts, and an open-addressing table of
 * offsets with one byte of each hash, so that few probes compare text. The Bloom filter in front fits the CPU cache,
 * because most hosts are not listed. Matches are compared byte by byte, so entries are never confused.
 */
export class HostTable {
  private readonly scale: number;
  private readonly mask: number;

  constructor(
    /**
     * Length, flags, text, and with `WRITTEN` the length and bytes of the source's spelling. Byte 0 is unused, so that
     * offset 0 can mark an empty slot.
     */
    private readonly texts: Uint8Array,
    private readonly slots: Uint32Array,
    private readonly prints: Uint8Array,
    /** Its number of bits is a power of two. */
    private readonly filter: Uint32Array,
    /** Distinct entries. */
    readonly size: number,
  ) {
    this.scale = slots.length / TWO_TO_32;
    this.mask = filter.length - 1;
  }

  get bytes(): number {
    return this.texts.byteLength + this.slots.byteLength + this.prints.byteLength + this.filter.byteLength;
  }

  /**
   * Returns the memory now: nothing else would trigger a garbage collection before the next list is loaded. The table
   * is empty afterwards. (Node 20 cannot, and waits for the collector.)
   */
  free(): void {
    for (const { buffer } of [this.texts, this.slots, this.prints, this.filter])
      (buffer as Partial<Pick<ArrayBuffer, 'transfer'>>).transfer?.(0);
  }

  /**
   * The flags of the text from `start` on; 0 if it is not listed.
   * @param hash of that part of the text
   */
  find(text: string, start: number, hash: number): number {
    const at = this.placeOf(text, start, hash);
    return at === 0 ? 0 : this.texts[at + 1]! & STATUS;
  }

  /** The source's spelling of an entry that `find` found. */
  writtenAs(text: string, start: number, hash: number): string {
    const at = this.placeOf(text, start, hash);
    const end = at + HEADER + this.texts[at]!;
    if ((this.texts[at + 1]! & WRITTEN) === 0) return text.slice(start);
    return Buffer.from(this.texts.subarray(end + 1, end + 1 + this.texts[end]!)).toString();
  }

  /** Each entry once, as a range of the text pool. */
  *entries(): Generator<readonly [texts: Uint8Array, start: number, end: number]> {
    for (const at of this.slots) if (at !== 0) yield [this.texts, at + HEADER, at + HEADER + this.texts[at]!];
  }

  /** 0 if it is not listed. */
  private placeOf(text: string, start: number, hash: number): number {
    if ((this.filter[(hash >>> 5) & this.mask]! & (1 << hash)) === 0) return 0;
    const { slots, prints } = this;
    const print = hash & 0xff;
    let slot = Math.floor(hash * this.scale);
    for (let at = slots[slot]!; at !== 0; at = slots[slot]!) {
      if (prints[slot] === print && this.isAt(at, text, start)) return at;
      slot += 1;
      if (slot === slots.length) slot = 0;
    }
    return 0;
  }

  private isAt(at: number, text: string, start: number): boolean {
    const { texts } = this;
    const length = texts[at]!;
    if (length !== text.length - start) return false;
    for (let index = 0, from = at + HEADER; index < length; index += 1)
      if (texts[from + index] !== text.charCodeAt(start + index)) return false;
    return true;
  }
}

/** Collects entries; ASCII of at most 255 characters each. */
export class HostTableBuilder {
  private texts: Uint8Array;
  private end = 1;
  private entries = 0;

  get isEmpty(): boolean {
    return this.entries === 0;
  }

  /** @param expected bytes of text; unused pages never become resident, so a generous guess costs nothing */
  constructor(expected = 0) {
    this.texts = new Uint8Array(Math.max(1 << 12, Math.ceil(expected * 2.3)));
  }

  /** @param written the source's spelling; dropped if longer than 255 bytes */
  add(text: string, flags: number, written = text): void {
    const original = written === text ? undefined : Buffer.from(written);
    const isKept = original !== undefined && original.length <= MAX_ENTRY_LENGTH;
    const needed = this.end + HEADER + text.length + (isKept ? 1 + original.length : 0);
    if (needed > this.texts.length) {
      const larger = new Uint8Array(Math.max(needed, Math.ceil(this.texts.length * 1.6)));
      larger.set(this.texts);
      this.texts = larger;
    }
    const { texts, end } = this;
    texts[end] = text.length;
    texts[end + 1] = isKept ? flags | WRITTEN : flags;
    for (let index = 0; index < text.length; index += 1) texts[end + HEADER + index] = text.charCodeAt(index);
    if (isKept) {
      texts[end + HEADER + text.length] = original.length;
      texts.set(original, end + HEADER + text.length + 1);
    }
    this.end = needed;
    this.entries += 1;
  }

  /** An entry added twice becomes one with both flags. */
  async build(turns = new Yielder()): Promise<HostTable> {
    const texts = this.texts.subarray(0, this.end);
    const capacity = Math.max(16, Math.ceil(this.entries * SLOTS_PER_ENTRY));
    const slots = new Uint32Array(capacity);
    const prints = new Uint8Array(capacity);
    const filter = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(1, (this.entries * FILTER_BITS_PER_ENTRY) / 32))));
    const scale = capacity / TWO_TO_32;
    let distinct = 0;
    let added = 0;
    for (let at = 1; at < this.end; at = afterEntry(texts, at)) {
      const hash = hashOf(texts, at + HEADER, at + HEADER + texts[at]!);
      const print = hash & 0xff;
      let slot = Math.floor(hash * scale);
      while (slots[slot] !== 0 && !(prints[slot] === print && isSame(texts, slots[slot]!, at)))
        slot = slot + 1 === capacity ? 0 : slot + 1;
      if (slots[slot] === 0) {
        slots[slot] = at;
        prints[slot] = print;
        filter[(hash >>> 5) & (filter.length - 1)]! |= 1 << hash;
        distinct += 1;
      } else {
        texts[slots[slot]! + 1]! |= texts[at + 1]! & STATUS;
      }
      added += 1;
      if (added % CHECK_EVERY === 0 && turns.isOver()) await turns.pass();
    }
    return new HostTable(texts, slots, prints, filter, distinct);
  }
}

const afterEntry = (texts: Uint8Array, at: number): number => {
  const end = at + HEADER + texts[at]!;
  return texts[at + 1]! & WRITTEN ? end + 1 + texts[end]! : end;
};

const isSame = (texts: Uint8Array, one: number, other: number): boolean => {
  const length = texts[one]!;
  if (length !== texts[other]) return false;
  for (let index = HEADER; index < HEADER + length; index += 1)
    if (texts[one + index] !== texts[other + index]) return false;
  return true;
};

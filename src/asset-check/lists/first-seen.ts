import { hash, randomInt } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { CooperativeYield } from '../../flow/time.js';
import { type HostTable, hashOf } from './host-table.js';
import { replaceFile } from './list-copy.js';
import { limit } from '../../limits.js';

/** Since when a list has had an entry, as observed by this service. */
export interface Seen {
  /** When the entry was first seen, in ms; absent if the list does not have the entry. */
  readonly since?: number;
  /** When the list was first read, in ms. Entries that the list had at that time may be older. */
  readonly watchedSince: number;
}

/**
 * Maximum number of entries of a list whose first-seen times are stored. Each entry takes 12 bytes on disk, and in
 * memory during an update.
 */
const MAX_ENTRIES = limit('list that has `seenSince` in histories', 1_000_000, 'entries', 'list', 'omitted');
const SLOTS_PER_ENTRY = 1.5;
const MAGIC = 0x54_50_53_31;
const TWO_TO_32 = 4_294_967_296;
const ENTRIES_PER_CHECK = 256;
/** Number of slots that one read from disk returns. */
const SLOTS_PER_READ = 64;

/** Indexes of the header fields, in 32-bit words. */
const HEADER_WORD = { magic: 0, origin: 1, seed: 2, otherSeed: 3, watchedSince: 4, capacity: 5 } as const;
const HEADER_WORDS = 6;
const BYTES_PER_WORD = 4;

/** Allocates memory that `free` can return at once, without waiting for the garbage collector. */
const wordsOf = (length: number): Uint32Array<ArrayBuffer> => {
  const bytes = length * BYTES_PER_WORD;
  return new Uint32Array(new ArrayBuffer(bytes, { maxByteLength: bytes }));
};
const free = (words: Uint32Array<ArrayBuffer> | undefined): void => words?.buffer.resize(0);

const secondsOf = (ms: number): number => Math.floor(ms / 1_000);
const originOf = (origin: string): number => hash('sha256', origin, 'buffer').readUInt32LE();

/**
 * Stores when each entry of a list was first seen, in a file next to the copy of the list. The file is an
 * open-addressing hash table. Lookups read only a few slots from disk, so the table takes no memory between refreshes.
 * A slot contains 32 bits of an entry's hash and a time in seconds. 32 bits of another hash of the entry select the
 * slot. Each file has its own random seeds, so that an attacker cannot craft entries whose hashes collide.
 */
export class FirstSeen {
  constructor(
    private readonly path: string,
    /** The origin of the list; a file with another origin is ignored. */
    private readonly origin: string,
  ) {}

  /**
   * Adds the times of new entries, and removes the times of entries that are no longer listed.
   * @param at when the list was read, in ms
   * @throws Error if the disk fails; the file is then unchanged
   */
  async update(table: HostTable, at: number): Promise<void> {
    if (table.size > MAX_ENTRIES) return rm(this.path, { force: true });
    const stored = await this.readAll();
    const now = secondsOf(at);
    const capacity = Math.max(16, Math.ceil(table.size * SLOTS_PER_ENTRY));
    const words = wordsOf(HEADER_WORDS + 2 * capacity);
    words[HEADER_WORD.magic] = MAGIC;
    words[HEADER_WORD.origin] = originOf(this.origin);
    const seed = (words[HEADER_WORD.seed] = stored?.[HEADER_WORD.seed] ?? randomInt(TWO_TO_32));
    const otherSeed = (words[HEADER_WORD.otherSeed] = stored?.[HEADER_WORD.otherSeed] ?? randomInt(TWO_TO_32));
    words[HEADER_WORD.watchedSince] = stored?.[HEADER_WORD.watchedSince] ?? now;
    words[HEADER_WORD.capacity] = capacity;
    const cooperativeYield = new CooperativeYield();
    let updated = 0;
    for (const [texts, start, end] of table.entries()) {
      const slotHash = hashOf(texts, start, end, seed);
      const entryHash = hashOf(texts, start, end, otherSeed);
      const before = stored === undefined ? 0 : stored[slotOf(stored, slotHash, entryHash) + 1]!;
      const slot = slotOf(words, slotHash, entryHash);
      words[slot] = entryHash;
      words[slot + 1] = before === 0 ? now : before;
      updated += 1;
      if (updated % ENTRIES_PER_CHECK === 0 && cooperativeYield.isDue()) await cooperativeYield.yieldNow();
    }
    free(stored);
    await replaceFile(this.path, new Uint8Array(words.buffer));
    free(words);
  }

  /**
   * @param entry the ASCII key in the host table; if undefined, only `watchedSince` is returned
   * @returns undefined if no first-seen times are stored for the list
   */
  async find(entry: string | undefined): Promise<Seen | undefined> {
    const file = await open(this.path).catch(() => undefined);
    if (file === undefined) return undefined;
    const readWords = async (from: number, length: number): Promise<Uint32Array> => {
      const words = new Uint32Array(length);
      const { bytesRead } = await file.read(
        new Uint8Array(words.buffer),
        0,
        length * BYTES_PER_WORD,
        from * BYTES_PER_WORD,
      );
      return words.subarray(0, 2 * Math.floor(bytesRead / (2 * BYTES_PER_WORD)));
    };
    try {
      const header = await readWords(0, HEADER_WORDS);
      if (!this.isValid(header)) return undefined;
      const watchedSince = header[HEADER_WORD.watchedSince]! * 1_000;
      if (entry === undefined) return { watchedSince };
      const capacity = header[HEADER_WORD.capacity]!;
      const bytes = Buffer.from(entry, 'latin1');
      const slotHash = hashOf(bytes, 0, bytes.length, header[HEADER_WORD.seed]!);
      const entryHash = hashOf(bytes, 0, bytes.length, header[HEADER_WORD.otherSeed]!);
      let slot = Math.floor((slotHash / TWO_TO_32) * capacity);
      for (let probed = 0; probed < capacity;) {
        const slots = await readWords(HEADER_WORDS + 2 * slot, 2 * Math.min(SLOTS_PER_READ, capacity - slot));
        for (let at = 0; at < slots.length; at += 2) {
          if (slots[at + 1] === 0) return { watchedSince };
          if (slots[at] === entryHash) return { since: slots[at + 1]! * 1_000, watchedSince };
        }
        if (slots.length === 0) return { watchedSince };
        probed += slots.length / 2;
        slot = (slot + slots.length / 2) % capacity;
      }
      return { watchedSince };
    } finally {
      await file.close();
    }
  }

  private isValid(words: Uint32Array): boolean {
    return (
      words.length >= HEADER_WORDS &&
      words[HEADER_WORD.magic] === MAGIC &&
      words[HEADER_WORD.origin] === originOf(this.origin)
    );
  }

  /** Reads the whole file. @returns undefined if the file is missing or invalid */
  private async readAll(): Promise<Uint32Array<ArrayBuffer> | undefined> {
    const file = await open(this.path).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      if (size > BYTES_PER_WORD * (HEADER_WORDS + 2 * SLOTS_PER_ENTRY * MAX_ENTRIES) || size % BYTES_PER_WORD !== 0)
        return undefined;
      const words = wordsOf(size / BYTES_PER_WORD);
      const { bytesRead } = await file.read(new Uint8Array(words.buffer), 0, size, 0);
      const isWhole = bytesRead === size && words.length === HEADER_WORDS + 2 * (words[HEADER_WORD.capacity] ?? 0);
      return isWhole && this.isValid(words) && words.length > HEADER_WORDS ? words : undefined;
    } finally {
      await file.close();
    }
  }
}

/**
 * Returns the index of the slot of an entry, or of the empty slot where the entry would be stored. Returns the first
 * probed slot if the table is full.
 */
const slotOf = (words: Uint32Array, slotHash: number, entryHash: number): number => {
  const capacity = words[HEADER_WORD.capacity]!;
  const first = Math.floor((slotHash / TWO_TO_32) * capacity);
  for (let slot = first, probed = 0; probed < capacity; probed += 1, slot = slot + 1 === capacity ? 0 : slot + 1) {
    const at = HEADER_WORDS + 2 * slot;
    if (words[at + 1] === 0 || words[at] === entryHash) return at;
  }
  return HEADER_WORDS + 2 * first;
};

import { hash, randomInt } from 'node:crypto';
import { open, rm } from 'node:fs/promises';
import { Yielder } from '../../flow/yielder.js';
import type { HostTable } from './host-table.js';
import { replaceFile } from './list-copy.js';
import { hashOf } from './suffix-hashes.js';

/** Since when a list has had an entry, as observed by this service. */
export interface Seen {
  /** ms; absent if unknown for this entry. */
  readonly since?: number;
  /** ms; when the list was first read. Entries it had then may be older. */
  readonly watchedSince: number;
}

/** Longer lists are not tracked: an entry takes 12 bytes on disk, and in memory during a write. */
const MAX_ENTRIES = 1_000_000;
const SLOTS_PER_ENTRY = 1.5;
const MAGIC = 0x54_50_53_31;
const TWO_TO_32 = 4_294_967_296;
const CHECK_EVERY = 256;
/** Slots per read from disk. */
const SLOTS_READ = 64;

/** Header fields, as indexes of 32-bit words. */
const WORD = { magic: 0, origin: 1, seed: 2, otherSeed: 3, watchedSince: 4, capacity: 5 } as const;
const HEADER = 6;
const BYTES = 4;

/** Memory that `free` returns at once, whenever the collector comes: nothing follows a refresh that would make it come. */
const wordsOf = (length: number): Uint32Array<ArrayBuffer> => {
  const bytes = length * BYTES;
  return new Uint32Array(new ArrayBuffer(bytes, { maxByteLength: bytes }));
};
const free = (words: Uint32Array<ArrayBuffer> | undefined): void => words?.buffer.resize(0);

const nowInSeconds = (ms: number): number => Math.floor(ms / 1_000);
const originOf = (origin: string): number => hash('sha256', origin, 'buffer').readUInt32LE();

/**
 * When each entry of a list was first seen, in a file next to the list's copy. An open-addressing hash table that is
 * read in place, so it takes no memory between refreshes and no time of a check. A slot is 32 bits of an entry's hash
 * plus a time in seconds; another 32 bits of hash pick the slot. Each file has its own seeds, so that nobody can craft
 * entries that collide.
 */
export class FirstSeen {
  constructor(
    private readonly path: string,
    /** What the list was read from; a file of another origin is ignored. */
    private readonly origin: string,
  ) {}

  /**
   * Adds new entries and removes those no longer listed.
   * @param at ms; when the list was read
   * @throws if the disk fails; the file is then unchanged
   */
  async note(table: HostTable, at: number): Promise<void> {
    if (table.size > MAX_ENTRIES) return rm(this.path, { force: true });
    const known = await this.readAll();
    const now = nowInSeconds(at);
    const capacity = Math.max(16, Math.ceil(table.size * SLOTS_PER_ENTRY));
    const words = wordsOf(HEADER + 2 * capacity);
    words[WORD.magic] = MAGIC;
    words[WORD.origin] = originOf(this.origin);
    const seed = (words[WORD.seed] = known?.[WORD.seed] ?? randomInt(TWO_TO_32));
    const otherSeed = (words[WORD.otherSeed] = known?.[WORD.otherSeed] ?? randomInt(TWO_TO_32));
    words[WORD.watchedSince] = known?.[WORD.watchedSince] ?? now;
    words[WORD.capacity] = capacity;
    const turns = new Yielder();
    let noted = 0;
    for (const [texts, start, end] of table.entries()) {
      const place = hashOf(texts, start, end, seed);
      const print = hashOf(texts, start, end, otherSeed);
      const before = known === undefined ? 0 : known[slotOf(known, place, print) + 1]!;
      const slot = slotOf(words, place, print);
      words[slot] = print;
      words[slot + 1] = before === 0 ? now : before;
      noted += 1;
      if (noted % CHECK_EVERY === 0 && turns.isOver()) await turns.pass();
    }
    free(known);
    await replaceFile(this.path, new Uint8Array(words.buffer));
    free(words);
  }

  /**
   * @param entry in ASCII, as in the host table; undefined: only `watchedSince`
   * @returns undefined if the list is not tracked
   */
  async find(entry: string | undefined): Promise<Seen | undefined> {
    const file = await open(this.path).catch(() => undefined);
    if (file === undefined) return undefined;
    const readWords = async (from: number, length: number): Promise<Uint32Array> => {
      const words = new Uint32Array(length);
      const { bytesRead } = await file.read(new Uint8Array(words.buffer), 0, length * BYTES, from * BYTES);
      return words.subarray(0, 2 * Math.floor(bytesRead / (2 * BYTES)));
    };
    try {
      const header = await readWords(0, HEADER);
      if (!this.isOurs(header)) return undefined;
      const watchedSince = header[WORD.watchedSince]! * 1_000;
      if (entry === undefined) return { watchedSince };
      const capacity = header[WORD.capacity]!;
      const bytes = Buffer.from(entry, 'latin1');
      const place = hashOf(bytes, 0, bytes.length, header[WORD.seed]!);
      const print = hashOf(bytes, 0, bytes.length, header[WORD.otherSeed]!);
      let slot = Math.floor((place / TWO_TO_32) * capacity);
      for (let looked = 0; looked < capacity;) {
        const slots = await readWords(HEADER + 2 * slot, 2 * Math.min(SLOTS_READ, capacity - slot));
        for (let at = 0; at < slots.length; at += 2) {
          if (slots[at + 1] === 0) return { watchedSince };
          if (slots[at] === print) return { since: slots[at + 1]! * 1_000, watchedSince };
        }
        if (slots.length === 0) return { watchedSince };
        looked += slots.length / 2;
        slot = (slot + slots.length / 2) % capacity;
      }
      return { watchedSince };
    } finally {
      await file.close();
    }
  }

  private isOurs(words: Uint32Array): boolean {
    return words.length >= HEADER && words[WORD.magic] === MAGIC && words[WORD.origin] === originOf(this.origin);
  }

  /** The whole file; undefined if there is none, or it is unusable. */
  private async readAll(): Promise<Uint32Array<ArrayBuffer> | undefined> {
    const file = await open(this.path).catch(() => undefined);
    if (file === undefined) return undefined;
    try {
      const { size } = await file.stat();
      if (size > BYTES * (HEADER + 2 * SLOTS_PER_ENTRY * MAX_ENTRIES) || size % BYTES !== 0) return undefined;
      const words = wordsOf(size / BYTES);
      const { bytesRead } = await file.read(new Uint8Array(words.buffer), 0, size, 0);
      const isWhole = bytesRead === size && words.length === HEADER + 2 * (words[WORD.capacity] ?? 0);
      return isWhole && this.isOurs(words) && words.length > HEADER ? words : undefined;
    } finally {
      await file.close();
    }
  }
}

/** The index of an entry's slot, or of the empty slot it would take; the first slot probed if the table is corrupt. */
const slotOf = (words: Uint32Array, place: number, print: number): number => {
  const capacity = words[WORD.capacity]!;
  const first = Math.floor((place / TWO_TO_32) * capacity);
  for (let slot = first, looked = 0; looked < capacity; looked += 1, slot = slot + 1 === capacity ? 0 : slot + 1) {
    const at = HEADER + 2 * slot;
    if (words[at + 1] === 0 || words[at] === print) return at;
  }
  return HEADER + 2 * first;
};

import { hashOfText } from '../lists/host-table.js';
import {
  expiriesAt,
  hasKeyAt,
  isBlockedForever,
  isOver,
  isRemoved,
  keyAt,
  markRemoved,
  MAX_CHARACTERS,
  mayExpire,
  presentAt,
  type PresentStatus,
  recordEnd,
  recordSize,
  type StoredStatus,
  writeRecord,
} from './status-record.js';

/** The statuses need more memory than `maxBytes`. */
export class TooManyStatuses extends Error {}

const SLOT_BYTES = 8;
/** Tables with a higher load factor have long probe sequences. */
const MAX_FILL = 0.75;
/** Factor by which the table grows. */
const GROWTH = 1.5;
const MIN_GROWTH = 1.05;
/**
 * A table with a larger share of dead bytes is compacted when it grows. Tables with a smaller share are copied, because
 * compacting takes 100 times as long.
 */
const MAX_DEAD_SHARE = 1 / 3;
const TWO_TO_32 = 4_294_967_296;

/**
 * Maps keys to statuses in about 60 bytes each: a pool of records, and an open-addressing hash table with the offset
 * and hash of each record. Keys are compared character by character, so that equal hashes do not confuse two assets. A
 * replaced or removed record takes memory until the pool is compacted.
 */
export class StatusTable {
  /** The records. Offset 0 is unused, because an empty slot has this offset. */
  private pool: Buffer = Buffer.alloc(4_096);
  private end = 1;
  private slots = new Uint32Array(64);
  private hashes = new Uint32Array(64);
  /** Number of slots in use, including those of removed entries. */
  private usedSlots = 0;
  private entries = 0;
  /** Bytes of the pool that belong to replaced and removed records. */
  private deadBytes = 0;
  /** Number of records with `expiresAt` that were set, including replaced and removed ones, since the last compaction. */
  private expiring = 0;
  /** Element n is 1 if a key of length n was ever set. */
  private readonly keyLengths = new Uint8Array(MAX_CHARACTERS + 1);

  /**
   * @param maxBytes the limit for pool and slots, which is exceeded only while the table grows, because two copies then
   *   exist
   */
  constructor(private readonly maxBytes: number) {}

  get size(): number {
    return this.entries;
  }

  get bytes(): number {
    return this.pool.length + this.slots.length * SLOT_BYTES;
  }

  /** Returns false if no key has this hash, which is a result of `hashOfText`. */
  mayHave(hash: number): boolean {
    const { slots, hashes } = this;
    let slot = Math.floor((hash / TWO_TO_32) * slots.length);
    while (slots[slot] !== 0 && hashes[slot] !== hash) slot = slot + 1 === slots.length ? 0 : slot + 1;
    return slots[slot] !== 0;
  }

  /**
   * Returns the status of a key at an instant.
   * @param now ms
   */
  get(key: string, now: number): PresentStatus | undefined {
    // If no key of this length exists, a long key need not be hashed.
    if (!this.keyLengths[key.length]) return undefined;
    const offset = this.slots[this.slotOf(key, hashOfText(key))]!;
    if (offset === 0 || isRemoved(this.pool, offset)) return undefined;
    return presentAt(this.pool, offset, key, now);
  }

  /**
   * Returns the first instant after `from` (ms) at which a status expires; undefined if none does. Reads every status, if
   * any expires: about 3 ms for 350,000.
   */
  nextExpiry(from: number): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const offset of this.expiringOffsets())
      for (const expiresAt of expiriesAt(this.pool, offset)) if (expiresAt > from && expiresAt < next) next = expiresAt;
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  /** Yields the keys of which a status expired after `from` and not after `to` (ms). */
  *expiredBetween(from: number, to: number): Generator<string> {
    for (const offset of this.expiringOffsets())
      if (expiriesAt(this.pool, offset).some((expiresAt) => expiresAt > from && expiresAt <= to))
        yield keyAt(this.pool, offset);
  }

  /** Removes the statuses that, with all their followers, have expired at `now` (ms), and yields their keys. */
  *deleteExpired(now: number): Generator<string> {
    for (const offset of this.expiringOffsets()) {
      if (!isOver(this.pool, offset, now)) continue;
      yield keyAt(this.pool, offset);
      this.deleteAt(offset);
    }
  }

  /** Yields each key with a status, and whether it is BLOCKED without an end. Otherwise, `get` says what it is. */
  *keys(): Generator<readonly [key: string, isBlocked: boolean]> {
    const { pool } = this;
    for (const offset of this.slots) if (offset !== 0) yield* entryAt(pool, offset);
  }

  /** Yields as `keys`, but only keys that have this hash, which is a result of `hashOfText`. */
  *withHash(hash: number): ReturnType<StatusTable['keys']> {
    const { pool, slots, hashes } = this;
    let slot = Math.floor((hash / TWO_TO_32) * slots.length);
    for (; slots[slot] !== 0; slot = slot + 1 === slots.length ? 0 : slot + 1)
      if (hashes[slot] === hash) yield* entryAt(pool, slots[slot]!);
  }

  /** @throws TooManyStatuses if the table is full; the table is then unchanged */
  set(key: string, stored: StoredStatus): void {
    if (key.length > MAX_CHARACTERS || stored.match.length > MAX_CHARACTERS)
      throw new RangeError('An asset is too long');
    const needed = recordSize(key, stored);
    if (this.end + needed > this.pool.length || this.usedSlots + 1 > this.slots.length * MAX_FILL) this.grow(needed);
    const { pool, end } = this;
    const hash = hashOfText(key);
    const slot = this.slotOf(key, hash);
    const before = this.slots[slot]!;
    if (before === 0) this.usedSlots += 1;
    if (before === 0 || isRemoved(pool, before)) this.entries += 1;
    else this.deadBytes += recordEnd(pool, before) - before;
    writeRecord(pool, end, key, stored);
    if (stored.expiresAt !== undefined) this.expiring += 1;
    this.slots[slot] = end;
    this.hashes[slot] = hash;
    this.keyLengths[key.length] = 1;
    this.end = end + needed;
  }

  delete(key: string): void {
    this.deleteAt(this.slots[this.slotOf(key, hashOfText(key))]!);
  }

  private deleteAt(offset: number): void {
    if (offset === 0 || isRemoved(this.pool, offset)) return;
    markRemoved(this.pool, offset);
    this.entries -= 1;
    this.deadBytes += recordEnd(this.pool, offset) - offset;
  }

  /** The records of statuses that expire. */
  private *expiringOffsets(): Iterable<number> {
    if (this.expiring === 0) return;
    for (const offset of this.slots)
      if (offset !== 0 && !isRemoved(this.pool, offset) && mayExpire(this.pool, offset)) yield offset;
  }

  /** Returns the slot of a key, or the empty slot where the key would be inserted. */
  private slotOf(key: string, hash: number): number {
    const { slots, hashes } = this;
    let slot = Math.floor((hash / TWO_TO_32) * slots.length);
    for (let offset = slots[slot]!; offset !== 0; offset = slots[slot]!) {
      if (hashes[slot] === hash && hasKeyAt(this.pool, offset, key)) return slot;
      slot = slot + 1 === slots.length ? 0 : slot + 1;
    }
    return slot;
  }

  /** Grows the table. Copies the pool if it fits and has few dead bytes; otherwise compacts the pool. */
  private grow(needed: number): void {
    const limit = Math.min(this.maxBytes, TWO_TO_32 - 1);
    const isDense = this.deadBytes <= this.end * MAX_DEAD_SHARE;
    const capacityFor = (records: number): number => Math.max(64, Math.ceil(((records + 1) * GROWTH) / MAX_FILL));
    const [whole, compact] = [capacityFor(this.usedSlots), capacityFor(this.entries)];
    // A table without spare room does not fit, because every further change would copy the whole table.
    const fits = (bytes: number, capacity: number): boolean =>
      (bytes + needed) * MIN_GROWTH <= limit - capacity * SLOT_BYTES;
    const sizeOf = (bytes: number, capacity: number): number =>
      Math.min(limit - capacity * SLOT_BYTES, Math.max(4_096, Math.ceil((bytes + needed) * GROWTH)));
    const live = this.end - this.deadBytes;
    if (isDense && fits(this.end, whole)) this.copyTo(whole, sizeOf(this.end, whole));
    else if (fits(live, compact)) this.compactTo(compact, sizeOf(live, compact));
    else throw new TooManyStatuses(`${this.entries} statuses need more than the ${this.maxBytes} bytes they may use`);
  }

  /** Copies the pool; every record keeps its offset. */
  private copyTo(capacity: number, poolBytes: number): void {
    const { slots: oldSlots, hashes: oldHashes } = this;
    const pool = Buffer.allocUnsafeSlow(poolBytes);
    this.pool.copy(pool, 0, 0, this.end);
    const [slots, hashes] = [new Uint32Array(capacity), new Uint32Array(capacity)];
    for (let oldSlot = 0; oldSlot < oldSlots.length; oldSlot += 1)
      if (oldSlots[oldSlot] !== 0) insert(slots, hashes, oldHashes[oldSlot]!, oldSlots[oldSlot]!);
    [this.pool, this.slots, this.hashes] = [pool, slots, hashes];
  }

  private compactTo(capacity: number, poolBytes: number): void {
    const { pool: oldPool, slots: oldSlots, hashes: oldHashes } = this;
    const pool = Buffer.allocUnsafeSlow(poolBytes);
    const [slots, hashes] = [new Uint32Array(capacity), new Uint32Array(capacity)];
    let end = 1;
    this.expiring = 0;
    for (let oldSlot = 0; oldSlot < oldSlots.length; oldSlot += 1) {
      const offset = oldSlots[oldSlot]!;
      if (offset === 0 || isRemoved(oldPool, offset)) continue;
      insert(slots, hashes, oldHashes[oldSlot]!, end);
      if (mayExpire(oldPool, offset)) this.expiring += 1;
      end += oldPool.copy(pool, end, offset, recordEnd(oldPool, offset));
    }
    [this.pool, this.slots, this.hashes, this.end] = [pool, slots, hashes, end];
    [this.usedSlots, this.deadBytes] = [this.entries, 0];
  }
}

/** Yields the key of a record that is not removed, and whether it is BLOCKED without an end. */
function* entryAt(pool: Buffer, offset: number): ReturnType<StatusTable['keys']> {
  if (!isRemoved(pool, offset)) yield [keyAt(pool, offset), isBlockedForever(pool, offset)];
}

/** Inserts a record whose key is not in the table yet. */
const insert = (slots: Uint32Array, hashes: Uint32Array, hash: number, offset: number): void => {
  let slot = Math.floor((hash / TWO_TO_32) * slots.length);
  while (slots[slot] !== 0) slot = slot + 1 === slots.length ? 0 : slot + 1;
  slots[slot] = offset;
  hashes[slot] = hash;
};

import type { AssetStatus } from '../../events/types/verdicts.js';
import { hashOfText } from '../lists/host-table.js';

/** A status at an instant. */
interface PresentStatus {
  /** UNKNOWN: the asset has no status until `expiresAt`. */
  readonly status: AssetStatus;
  /** The asset as upstream reported it with the newest entry. */
  readonly match: string;
  /** When the status began, in ms; undefined if unknown. */
  readonly since: number | undefined;
  /** From when on another status or none applies, in ms. Undefined: until an event changes the status. */
  readonly expiresAt?: number | undefined;
}

export interface StoredStatus extends PresentStatus {
  /** The statuses that apply after each other from `expiresAt` on, as the JSON of an array of `Follower`. */
  readonly followers?: string | undefined;
}

/** A status that applies once the statuses before it have expired, unless it has expired itself. Instants are in ms. */
interface Follower {
  readonly status: AssetStatus;
  readonly since: number;
  /** Null: the status does not expire. */
  readonly expiresAt: number | null;
}

/** The statuses need more memory than `maxBytes`. */
export class TooManyStatuses extends Error {}

/** Flags of a record. */
const NO_STATUS = 0;
const BLOCKED = 1;
const ALLOWED = 2;
const UNKNOWN = 3;
const STATUS = 3;
const STATUSES: readonly AssetStatus[] = ['UNKNOWN', 'BLOCKED', 'ALLOWED', 'UNKNOWN'];
const FLAG_OF: Readonly<Record<AssetStatus, number>> = { BLOCKED, ALLOWED, UNKNOWN };
const HAS_SINCE = 4;
const WIDE_KEY = 8;
const HAS_MATCH = 16;
const WIDE_MATCH = 32;
const HAS_EXPIRY = 64;
const HAS_FOLLOWERS = 128;

/**
 * A record has, with sizes in bytes: flags (1), the number of characters of the key (2) and of the match (2), `since`
 * (8, a double), the characters of the key, and those of the match. A status that expires also has `expiresAt` (6), and
 * one with followers the size of their JSON (4) and the JSON, which is ASCII.
 */
const HEADER_BYTES = 13;
const KEY_LENGTH = 1;
const MATCH_LENGTH = 3;
const SINCE = 5;
const MAX_CHARACTERS = 0xffff;
const EXPIRY_BYTES = 6;
const FOLLOWERS_LENGTH_BYTES = 4;
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

const isWide = (text: string): boolean => {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 0xff) return true;
  return false;
};

const isAt = (now: number, expiresAt: number | null): boolean => expiresAt === null || expiresAt > now;

const followersOf = (json: string): readonly Follower[] => JSON.parse(json) as Follower[];

const contentOf = (key: string): string => key.slice(key.indexOf(':') + 1);

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
    const { pool } = this;
    const flags = pool[offset]!;
    if (offset === 0 || (flags & STATUS) === NO_STATUS) return undefined;
    const expiresAt = (flags & HAS_EXPIRY) === 0 ? null : this.expiryAt(offset);
    const present = isAt(now, expiresAt)
      ? {
          status: STATUSES[flags & STATUS]!,
          since: (flags & HAS_SINCE) === 0 ? undefined : pool.readDoubleLE(offset + SINCE),
          expiresAt,
        }
      : this.followersAt(offset).find((follower) => isAt(now, follower.expiresAt));
    if (present === undefined) return undefined;
    return {
      status: present.status,
      match: (flags & HAS_MATCH) === 0 ? contentOf(key) : this.matchAt(offset),
      since: present.since,
      expiresAt: present.expiresAt ?? undefined,
    };
  }

  /**
   * Returns the first instant after `from` (ms) at which a status expires; undefined if none does. Reads every status, if
   * any expires: about 3 ms for 350,000.
   */
  nextExpiry(from: number): number | undefined {
    let next = Number.POSITIVE_INFINITY;
    for (const offset of this.expiringOffsets())
      for (const expiresAt of this.expiriesAt(offset)) if (expiresAt > from && expiresAt < next) next = expiresAt;
    return next === Number.POSITIVE_INFINITY ? undefined : next;
  }

  /** Yields the keys of which a status expired after `from` and not after `to` (ms). */
  *expiredBetween(from: number, to: number): Generator<string> {
    for (const offset of this.expiringOffsets())
      if (this.expiriesAt(offset).some((expiresAt) => expiresAt > from && expiresAt <= to))
        for (const [key] of keyAt(this.pool, offset)) yield key;
  }

  /** Removes the statuses that, with all their followers, have expired at `now` (ms), and yields their keys. */
  *deleteExpired(now: number): Generator<string> {
    for (const offset of this.expiringOffsets()) {
      const { expiresAt } = this.followersAt(offset).at(-1) ?? { expiresAt: this.expiryAt(offset) };
      if (isAt(now, expiresAt)) continue;
      for (const [key] of keyAt(this.pool, offset)) yield key;
      this.deleteAt(offset);
    }
  }

  /** Yields each key with a status, and whether it is BLOCKED without an end. Otherwise, `get` says what it is. */
  *keys(): Generator<readonly [key: string, isBlocked: boolean]> {
    const { pool } = this;
    for (const offset of this.slots) if (offset !== 0) yield* keyAt(pool, offset);
  }

  /** Yields as `keys`, but only keys that have this hash, which is a result of `hashOfText`. */
  *withHash(hash: number): ReturnType<StatusTable['keys']> {
    const { pool, slots, hashes } = this;
    let slot = Math.floor((hash / TWO_TO_32) * slots.length);
    for (; slots[slot] !== 0; slot = slot + 1 === slots.length ? 0 : slot + 1)
      if (hashes[slot] === hash) yield* keyAt(pool, slots[slot]!);
  }

  /** @throws TooManyStatuses if the table is full; the table is then unchanged */
  set(key: string, { status, match, since, expiresAt, followers }: StoredStatus): void {
    if (key.length > MAX_CHARACTERS || match.length > MAX_CHARACTERS) throw new RangeError('An asset is too long');
    const isSame = match === contentOf(key);
    const written = isSame ? '' : match;
    const wideKey = isWide(key) ? WIDE_KEY : 0;
    const wideMatch = isWide(written) ? WIDE_MATCH : 0;
    const keyBytes = key.length * (wideKey ? 2 : 1);
    const textBytes = HEADER_BYTES + keyBytes + written.length * (wideMatch ? 2 : 1);
    const needed =
      textBytes +
      (expiresAt === undefined ? 0 : EXPIRY_BYTES) +
      (followers === undefined ? 0 : FOLLOWERS_LENGTH_BYTES + followers.length);
    if (this.end + needed > this.pool.length || this.usedSlots + 1 > this.slots.length * MAX_FILL) this.grow(needed);
    const { pool, end } = this;
    const hash = hashOfText(key);
    const slot = this.slotOf(key, hash);
    const before = this.slots[slot]!;
    if (before === 0) this.usedSlots += 1;
    if (before === 0 || (pool[before]! & STATUS) === NO_STATUS) this.entries += 1;
    else this.deadBytes += this.recordEnd(before) - before;
    pool[end] =
      FLAG_OF[status] |
      (expiresAt === undefined ? 0 : HAS_EXPIRY) |
      (followers === undefined ? 0 : HAS_FOLLOWERS) |
      (since === undefined ? 0 : HAS_SINCE) |
      (isSame ? 0 : HAS_MATCH) |
      wideKey |
      wideMatch;
    pool.writeUInt16LE(key.length, end + KEY_LENGTH);
    pool.writeUInt16LE(written.length, end + MATCH_LENGTH);
    pool.writeDoubleLE(since ?? 0, end + SINCE);
    pool.write(key, end + HEADER_BYTES, wideKey ? 'utf16le' : 'latin1');
    pool.write(written, end + HEADER_BYTES + keyBytes, wideMatch ? 'utf16le' : 'latin1');
    if (expiresAt !== undefined) {
      // Every status that expires before 1970 has expired.
      pool.writeUIntLE(Math.max(0, expiresAt), end + textBytes, EXPIRY_BYTES);
      this.expiring += 1;
    }
    if (followers !== undefined) {
      pool.writeUInt32LE(followers.length, end + textBytes + EXPIRY_BYTES);
      pool.write(followers, end + textBytes + EXPIRY_BYTES + FOLLOWERS_LENGTH_BYTES, 'latin1');
    }
    this.slots[slot] = end;
    this.hashes[slot] = hash;
    this.keyLengths[key.length] = 1;
    this.end = end + needed;
  }

  delete(key: string): void {
    this.deleteAt(this.slots[this.slotOf(key, hashOfText(key))]!);
  }

  private deleteAt(offset: number): void {
    if (offset === 0 || (this.pool[offset]! & STATUS) === NO_STATUS) return;
    this.pool[offset]! &= ~STATUS;
    this.entries -= 1;
    this.deadBytes += this.recordEnd(offset) - offset;
  }

  private matchAt(offset: number): string {
    const flags = this.pool[offset]!;
    const start = this.keyEnd(offset);
    const length = this.pool.readUInt16LE(offset + MATCH_LENGTH);
    return (flags & WIDE_MATCH) === 0
      ? this.pool.toString('latin1', start, start + length)
      : this.pool.toString('utf16le', start, start + 2 * length);
  }

  private keyEnd(offset: number): number {
    const length = this.pool.readUInt16LE(offset + KEY_LENGTH);
    return offset + HEADER_BYTES + ((this.pool[offset]! & WIDE_KEY) === 0 ? length : 2 * length);
  }

  private matchEnd(offset: number): number {
    const length = this.pool.readUInt16LE(offset + MATCH_LENGTH);
    return this.keyEnd(offset) + ((this.pool[offset]! & WIDE_MATCH) === 0 ? length : 2 * length);
  }

  private recordEnd(offset: number): number {
    const flags = this.pool[offset]!;
    const end = this.matchEnd(offset) + ((flags & HAS_EXPIRY) === 0 ? 0 : EXPIRY_BYTES);
    return (flags & HAS_FOLLOWERS) === 0 ? end : end + FOLLOWERS_LENGTH_BYTES + this.pool.readUInt32LE(end);
  }

  private expiryAt(offset: number): number {
    return this.pool.readUIntLE(this.matchEnd(offset), EXPIRY_BYTES);
  }

  /** When the status and its followers expire, in ms. */
  private expiriesAt(offset: number): number[] {
    const ofFollowers = this.followersAt(offset).flatMap(({ expiresAt }) => expiresAt ?? []);
    return [this.expiryAt(offset), ...ofFollowers];
  }

  private followersAt(offset: number): readonly Follower[] {
    if ((this.pool[offset]! & HAS_FOLLOWERS) === 0) return [];
    const start = this.matchEnd(offset) + EXPIRY_BYTES + FOLLOWERS_LENGTH_BYTES;
    return followersOf(this.pool.toString('latin1', start, this.recordEnd(offset)));
  }

  /** The records of statuses that expire. */
  private *expiringOffsets(): Iterable<number> {
    if (this.expiring === 0) return;
    for (const offset of this.slots) {
      const flags = this.pool[offset]!;
      if (offset !== 0 && (flags & STATUS) !== NO_STATUS && (flags & HAS_EXPIRY) !== 0) yield offset;
    }
  }

  /** Returns the slot of a key, or the empty slot where the key would be inserted. */
  private slotOf(key: string, hash: number): number {
    const { slots, hashes } = this;
    let slot = Math.floor((hash / TWO_TO_32) * slots.length);
    for (let offset = slots[slot]!; offset !== 0; offset = slots[slot]!) {
      if (hashes[slot] === hash && this.hasKeyAt(offset, key)) return slot;
      slot = slot + 1 === slots.length ? 0 : slot + 1;
    }
    return slot;
  }

  private hasKeyAt(offset: number, key: string): boolean {
    const { pool } = this;
    if (pool.readUInt16LE(offset + KEY_LENGTH) !== key.length) return false;
    const from = offset + HEADER_BYTES;
    if ((pool[offset]! & WIDE_KEY) === 0) {
      for (let index = 0; index < key.length; index += 1)
        if (pool[from + index] !== key.charCodeAt(index)) return false;
      return true;
    }
    for (let index = 0; index < key.length; index += 1)
      if (pool.readUInt16LE(from + 2 * index) !== key.charCodeAt(index)) return false;
    return true;
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
      if (offset === 0 || (oldPool[offset]! & STATUS) === NO_STATUS) continue;
      insert(slots, hashes, oldHashes[oldSlot]!, end);
      if ((oldPool[offset]! & HAS_EXPIRY) !== 0) this.expiring += 1;
      end += oldPool.copy(pool, end, offset, this.recordEnd(offset));
    }
    [this.pool, this.slots, this.hashes, this.end] = [pool, slots, hashes, end];
    [this.usedSlots, this.deadBytes] = [this.entries, 0];
  }
}

function* keyAt(pool: Buffer, offset: number): ReturnType<StatusTable['keys']> {
  const flags = pool[offset]!;
  if ((flags & STATUS) === NO_STATUS) return;
  const isWideKey = (flags & WIDE_KEY) !== 0;
  const from = offset + HEADER_BYTES;
  const end = from + pool.readUInt16LE(offset + KEY_LENGTH) * (isWideKey ? 2 : 1);
  yield [pool.toString(isWideKey ? 'utf16le' : 'latin1', from, end), (flags & (STATUS | HAS_EXPIRY)) === BLOCKED];
}

/** Inserts a record whose key is not in the table yet. */
const insert = (slots: Uint32Array, hashes: Uint32Array, hash: number, offset: number): void => {
  let slot = Math.floor((hash / TWO_TO_32) * slots.length);
  while (slots[slot] !== 0) slot = slot + 1 === slots.length ? 0 : slot + 1;
  slots[slot] = offset;
  hashes[slot] = hash;
};

import type { AssetStatus } from '../../events/types/verdicts.js';

/** A status at an instant. */
export interface PresentStatus {
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

/** Flags of a record. A record without a status was removed. */
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
const EXPIRY_BYTES = 6;
const FOLLOWERS_LENGTH_BYTES = 4;

/** The most characters of a key or match. */
export const MAX_CHARACTERS = 0xffff;

const isWide = (text: string): boolean => {
  for (let index = 0; index < text.length; index += 1) if (text.charCodeAt(index) > 0xff) return true;
  return false;
};

const isAt = (now: number, expiresAt: number | null): boolean => expiresAt === null || expiresAt > now;

const contentOf = (key: string): string => key.slice(key.indexOf(':') + 1);

/** Whether a match need not be stored, because it is the content of the key. */
const isContentOf = (key: string, match: string): boolean => match === contentOf(key);

const textBytes = (text: string): number => text.length * (isWide(text) ? 2 : 1);

/** @returns the bytes of a record */
export const recordSize = (key: string, { match, expiresAt, followers }: StoredStatus): number =>
  HEADER_BYTES +
  textBytes(key) +
  (isContentOf(key, match) ? 0 : textBytes(match)) +
  (expiresAt === undefined ? 0 : EXPIRY_BYTES) +
  (followers === undefined ? 0 : FOLLOWERS_LENGTH_BYTES + followers.length);

/** Writes a record of `recordSize` bytes at an offset of a pool. */
export const writeRecord = (pool: Buffer, offset: number, key: string, stored: StoredStatus): void => {
  const { status, match, since, expiresAt, followers } = stored;
  const isContent = isContentOf(key, match);
  const written = isContent ? '' : match;
  const [isWideKey, isWideMatch] = [isWide(key), isWide(written)];
  pool[offset] =
    FLAG_OF[status] |
    (since === undefined ? 0 : HAS_SINCE) |
    (isWideKey ? WIDE_KEY : 0) |
    (isContent ? 0 : HAS_MATCH) |
    (isWideMatch ? WIDE_MATCH : 0) |
    (expiresAt === undefined ? 0 : HAS_EXPIRY) |
    (followers === undefined ? 0 : HAS_FOLLOWERS);
  pool.writeUInt16LE(key.length, offset + KEY_LENGTH);
  pool.writeUInt16LE(written.length, offset + MATCH_LENGTH);
  pool.writeDoubleLE(since ?? 0, offset + SINCE);
  let end = offset + HEADER_BYTES;
  end += pool.write(key, end, isWideKey ? 'utf16le' : 'latin1');
  end += pool.write(written, end, isWideMatch ? 'utf16le' : 'latin1');
  // Every status that expires before 1970 has expired.
  if (expiresAt !== undefined) end = pool.writeUIntLE(Math.max(0, expiresAt), end, EXPIRY_BYTES);
  if (followers !== undefined) pool.write(followers, pool.writeUInt32LE(followers.length, end), 'latin1');
};

export const isRemoved = (pool: Buffer, offset: number): boolean => (pool[offset]! & STATUS) === NO_STATUS;

export const markRemoved = (pool: Buffer, offset: number): void => {
  pool[offset]! &= ~STATUS;
};

/** Whether a status of a record expires. */
export const mayExpire = (pool: Buffer, offset: number): boolean => (pool[offset]! & HAS_EXPIRY) !== 0;

/** Whether the status of a record is BLOCKED without an end. */
export const isBlockedForever = (pool: Buffer, offset: number): boolean =>
  (pool[offset]! & (STATUS | HAS_EXPIRY)) === BLOCKED;

const keyEnd = (pool: Buffer, offset: number): number => {
  const length = pool.readUInt16LE(offset + KEY_LENGTH);
  return offset + HEADER_BYTES + ((pool[offset]! & WIDE_KEY) === 0 ? length : 2 * length);
};

const matchEnd = (pool: Buffer, offset: number): number => {
  const length = pool.readUInt16LE(offset + MATCH_LENGTH);
  return keyEnd(pool, offset) + ((pool[offset]! & WIDE_MATCH) === 0 ? length : 2 * length);
};

/** @returns the offset after a record */
export const recordEnd = (pool: Buffer, offset: number): number => {
  const flags = pool[offset]!;
  const end = matchEnd(pool, offset) + ((flags & HAS_EXPIRY) === 0 ? 0 : EXPIRY_BYTES);
  return (flags & HAS_FOLLOWERS) === 0 ? end : end + FOLLOWERS_LENGTH_BYTES + pool.readUInt32LE(end);
};

export const keyAt = (pool: Buffer, offset: number): string =>
  pool.toString((pool[offset]! & WIDE_KEY) === 0 ? 'latin1' : 'utf16le', offset + HEADER_BYTES, keyEnd(pool, offset));

/** Whether a record has this key. */
export const hasKeyAt = (pool: Buffer, offset: number, key: string): boolean => {
  if (pool.readUInt16LE(offset + KEY_LENGTH) !== key.length) return false;
  const from = offset + HEADER_BYTES;
  if ((pool[offset]! & WIDE_KEY) === 0) {
    for (let index = 0; index < key.length; index += 1) if (pool[from + index] !== key.charCodeAt(index)) return false;
    return true;
  }
  for (let index = 0; index < key.length; index += 1)
    if (pool.readUInt16LE(from + 2 * index) !== key.charCodeAt(index)) return false;
  return true;
};

const matchAt = (pool: Buffer, offset: number, key: string): string => {
  const flags = pool[offset]!;
  if ((flags & HAS_MATCH) === 0) return contentOf(key);
  const encoding = (flags & WIDE_MATCH) === 0 ? 'latin1' : 'utf16le';
  return pool.toString(encoding, keyEnd(pool, offset), matchEnd(pool, offset));
};

const expiryAt = (pool: Buffer, offset: number): number => pool.readUIntLE(matchEnd(pool, offset), EXPIRY_BYTES);

const followersAt = (pool: Buffer, offset: number): readonly Follower[] => {
  if ((pool[offset]! & HAS_FOLLOWERS) === 0) return [];
  const start = matchEnd(pool, offset) + EXPIRY_BYTES + FOLLOWERS_LENGTH_BYTES;
  return JSON.parse(pool.toString('latin1', start, recordEnd(pool, offset))) as readonly Follower[];
};

/** When the status of a record that expires and those that follow it expire, in ms. */
export const expiriesAt = (pool: Buffer, offset: number): number[] => {
  const ofFollowers = followersAt(pool, offset).flatMap(({ expiresAt }) => expiresAt ?? []);
  return [expiryAt(pool, offset), ...ofFollowers];
};

/** Whether the status of a record that expires and all that follow it have expired at `now` (ms). */
export const isOver = (pool: Buffer, offset: number, now: number): boolean => {
  const { expiresAt } = followersAt(pool, offset).at(-1) ?? { expiresAt: expiryAt(pool, offset) };
  return !isAt(now, expiresAt);
};

/** Returns the status of a record at `now` (ms); undefined if it has expired. */
export const presentAt = (pool: Buffer, offset: number, key: string, now: number): PresentStatus | undefined => {
  const flags = pool[offset]!;
  const expiresAt = (flags & HAS_EXPIRY) === 0 ? undefined : expiryAt(pool, offset);
  if (expiresAt === undefined || expiresAt > now) {
    const since = (flags & HAS_SINCE) === 0 ? undefined : pool.readDoubleLE(offset + SINCE);
    return { status: STATUSES[flags & STATUS]!, match: matchAt(pool, offset, key), since, expiresAt };
  }
  const follower = followersAt(pool, offset).find((each) => isAt(now, each.expiresAt));
  if (follower === undefined) return undefined;
  const { status, since, expiresAt: until } = follower;
  return { status, match: matchAt(pool, offset, key), since, expiresAt: until ?? undefined };
};

import { type Change, HASH_BYTES } from './sorted-hashes.js';

/** The number of a version and the first bytes of its checksum. */
export interface VersionMark {
  readonly number: number;
  /** 16 hexadecimal digits. */
  readonly mark: string;
}

const MARK_BYTES = 8;

/** Returns the mark of a version from its whole checksum. */
export const markOf = (sha256: Buffer): string => sha256.toString('hex', 0, MARK_BYTES);

/** Number, mark, bytes of removed hashes, bytes of added hashes. */
const HEADER_BYTES = 8 + MARK_BYTES + 4 + 4;
const INITIAL_BYTES = 4 * 1024;

/**
 * The changes of successive versions, in one buffer, because small objects would take several times the memory. Beyond
 * the budget, the oldest changes are dropped.
 */
export class History {
  private records = Buffer.alloc(INITIAL_BYTES);
  private start = 0;
  private end = 0;

  constructor(private readonly maxBytes: number) {}

  /** The bytes that the changes take. */
  get size(): number {
    return this.end - this.start;
  }

  /** @param change what the version changed in the version that was added last */
  add({ number, mark }: VersionMark, { removed, added }: Change): void {
    const size = HEADER_BYTES + removed.length + added.length;
    if (size > this.maxBytes) {
      this.start = this.end;
      // The version itself is known, the way to it is not.
      return this.add({ number, mark }, { removed: new Uint8Array(), added: new Uint8Array() });
    }
    while (this.size + size > this.maxBytes) this.start += this.sizeAt(this.start);
    if (this.end + size > this.records.length) this.move(size);
    const at = this.end;
    this.records.writeDoubleBE(number, at);
    this.records.write(mark, at + 8, 'hex');
    this.records.writeUInt32BE(removed.length, at + 16);
    this.records.writeUInt32BE(added.length, at + 20);
    this.records.set(removed, at + HEADER_BYTES);
    this.records.set(added, at + HEADER_BYTES + removed.length);
    this.end += size;
  }

  /**
   * Returns the changes after a version, oldest first, and their number of hashes. Later versions change neither.
   * @returns undefined if the version is not in the history
   */
  after(version: VersionMark): { readonly changes: Iterable<Change>; readonly hashes: number } | undefined {
    const { records, end } = this;
    for (let at = this.start; at < end; at += this.sizeAt(at)) {
      if (records.readDoubleBE(at) !== version.number) continue;
      if (records.toString('hex', at + 8, at + 16) !== version.mark) return undefined;
      const changes: Change[] = [];
      let bytes = 0;
      for (let next = at + this.sizeAt(at); next < end; next += this.sizeAt(next)) {
        const middle = next + HEADER_BYTES + records.readUInt32BE(next + 16);
        const last = middle + records.readUInt32BE(next + 20);
        changes.push({ removed: records.subarray(next + HEADER_BYTES, middle), added: records.subarray(middle, last) });
        bytes += last - next - HEADER_BYTES;
      }
      return { changes, hashes: bytes / HASH_BYTES };
    }
    return undefined;
  }

  private sizeAt(at: number): number {
    return HEADER_BYTES + this.records.readUInt32BE(at + 16) + this.records.readUInt32BE(at + 20);
  }

  /** Moves the records into another buffer with room for `size` bytes, because readers may still use this one. */
  private move(size: number): void {
    const moved = Buffer.alloc(Math.min(Math.max(2 * (this.size + size), INITIAL_BYTES), this.maxBytes + size));
    this.records.copy(moved, 0, this.start, this.end);
    this.end -= this.start;
    this.start = 0;
    this.records = moved;
  }
}

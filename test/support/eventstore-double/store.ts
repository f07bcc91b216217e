import { randomUUID } from 'node:crypto';
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';

/** A stored record. The server never parses data and metadata. */
export interface StoredRecord {
  /** The commit and prepare position of the event: its offset in the log. */
  readonly position: bigint;
  readonly stream: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly isJson: boolean;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
  readonly createdAt: number;
}

export type ProposedRecord = Pick<StoredRecord, 'id' | 'type' | 'isJson' | 'data' | 'metadata'>;

export type Expected = number | 'no-stream' | 'any';

export type AppendOutcome =
  /** The stream has a tombstone. */
  | { readonly isDeleted: true }
  | {
      /** Undefined if the events had been stored before the truncation of the stream. */
      readonly position: bigint | undefined;
      readonly revision: number;
      /** Whether the events had been stored before. */
      readonly isRepeated: boolean;
    }
  /** The current revision of the stream; -1 if the stream does not exist. */
  | { readonly wrongVersion: number };

/**
 * How many of the latest events a server recognises by id when the expected revision is `any`. A real server recognised
 * an id after 100,000 further events, but not after 200,000.
 */
const RECENT_WRITES = 150_000;
/** A real server also writes statistics to its log; the double does so after this many records. */
const STATISTICS_EVERY = 40;
const RECORD_OVERHEAD = 133;

/** A position as the server reports it. The two numbers are equal at the place of an event. */
export interface LogPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

const endOf = ({ position, stream, data, metadata }: StoredRecord): bigint =>
  position + BigInt(RECORD_OVERHEAD + stream.length + data.length + metadata.length);

/** Returns where a page starts after a record: the server knows where the next record begins, and not yet its event. */
export const placeAfter = (record: StoredRecord): LogPosition => ({ commit: endOf(record), prepare: 0n });

type Written = ProposedRecord & Pick<StoredRecord, 'stream' | 'createdAt'>;

const lineOf = ({ data, metadata, ...record }: Written): string =>
  `${JSON.stringify({ ...record, data: Buffer.from(data).toString('base64'), metadata: Buffer.from(metadata).toString('base64') })}\n`;

const writtenOf = (line: string): Written => {
  const { data, metadata, ...record } = JSON.parse(line) as Written & { data: string; metadata: string };
  return { ...record, data: Buffer.from(data, 'base64'), metadata: Buffer.from(metadata, 'base64') };
};

/**
 * The records of the double, with the observed behaviour of a real server. They are in memory, and also in a file if
 * the process itself is to be killed.
 */
export class Store {
  readonly records: StoredRecord[] = [];
  private readonly streams = new Map<string, StoredRecord[]>();
  /** The positions of records before a scavenge: a real server finds the next record for these. */
  private readonly begins = new Set<bigint>();
  private readonly recent = new Map<string, { stream: string; revision: number }>();
  private readonly listeners = new Set<() => void>();
  private nextPosition = 0n;
  indexAfterMs = 0;
  /** Called when all written records have been indexed. */
  private whenIndexed: (() => void)[] = [];
  private indexed = -1n;
  private readonly file: number | undefined;

  /** @param path the file that records are read from and written to */
  constructor(path?: string) {
    if (path !== undefined && existsSync(path))
      for (const line of readFileSync(path, 'utf8').split('\n')) if (line !== '') this.put(writtenOf(line));
    if (path !== undefined) this.file = openSync(path, 'a');
    this.index();
    if (this.records.length > 0) return;
    // A new server has these records.
    this.writeSystem('$$$settings', '$metadata', { $acl: {} });
    this.writeSystem('$users', '$User', 'admin');
    this.writeSystem('$user-admin', '$UserCreated', { loginName: 'admin' });
  }

  stream(name: string): readonly StoredRecord[] | undefined {
    return this.streams.get(name);
  }

  /** Whether the stream has a tombstone, which is its last record. */
  isDeleted(name: string): boolean {
    return this.streams.get(name)?.at(-1)?.type === '$streamDeleted';
  }

  /** The first readable revision of a stream: `$tb` in its metadata. */
  truncatedBefore(name: string): number {
    const last = this.streams.get(`$$${name}`)?.at(-1);
    return last === undefined ? 0 : ((JSON.parse(Buffer.from(last.data).toString()) as { $tb?: number }).$tb ?? 0);
  }

  tombstone(name: string): bigint {
    const event = { id: randomUUID(), type: '$streamDeleted', isJson: false };
    this.write(name, [{ ...event, data: Buffer.alloc(0), metadata: Buffer.alloc(0) }]);
    this.onceIndexed(() => {});
    return this.records.at(-1)!.position;
  }

  /** Removes the events of deleted and truncated streams from `$all`. Tombstones and last events of streams stay. */
  scavenge(): void {
    const kept = this.records.filter((record) => {
      const stream = this.streams.get(record.stream)!;
      if (record === stream.at(-1)) return true;
      return !this.isDeleted(record.stream) && record.revision >= this.truncatedBefore(record.stream);
    });
    for (const { position } of this.records) this.begins.add(position);
    this.records.splice(0, this.records.length, ...kept);
  }

  /** Returns the index of the first record at or after a position. */
  indexFrom(position: bigint): number {
    let low = 0;
    let high = this.records.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.records[middle]!.position < position) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns whether a record begins at the position, or the log ends before it. */
  isReadable(position: bigint): boolean {
    return (
      position >= this.nextPosition ||
      this.records[this.indexFrom(position)]?.position === position ||
      this.begins.has(position)
    );
  }

  /** Makes the same checks as the server's index writer, in the same order. */
  append(name: string, expected: Expected, events: readonly ProposedRecord[]): AppendOutcome {
    if (this.isDeleted(name)) return { isDeleted: true };
    const stream = this.streams.get(name) ?? [];
    const current = stream.length - 1;
    if (expected === 'any') {
      let last: number | undefined;
      for (const { id } of events) {
        const known = this.recent.get(id);
        // The first event decides: a known event after a new one is stored again.
        if (known?.stream !== name) {
          if (last === undefined) break;
          return { wrongVersion: current };
        }
        last = known.revision;
      }
      if (last !== undefined) {
        const position = last < this.truncatedBefore(name) ? undefined : stream[last]!.position;
        return { position, revision: last, isRepeated: true };
      }
      return this.store(name, events);
    }
    const after = expected === 'no-stream' ? -1 : expected;
    if (after > current) return { wrongVersion: current };
    if (after === current) return this.store(name, events);
    for (const [at, { id }] of events.entries())
      if (stream[after + 1 + at]?.id !== id) return { wrongVersion: current };
    const revision = after + events.length;
    return { position: stream[revision]!.position, revision, isRepeated: true };
  }

  /** Returns whether the record at the position can be read. */
  isIndexed(position: bigint): boolean {
    return position <= this.indexed;
  }

  /**
   * Calls back when the records written so far can be read: on the next turn of the event loop, or after
   * `indexAfterMs`.
   */
  onceIndexed(callback: () => void): void {
    if (this.whenIndexed.length === 0) {
      if (this.indexAfterMs > 0) setTimeout(() => this.index(), this.indexAfterMs);
      else setImmediate(() => this.index());
    }
    this.whenIndexed.push(callback);
  }

  /** Appends events of another service that uses the same store. */
  appendForeign(count: number): void {
    const event = { type: 'OrderPlaced', isJson: true, data: Buffer.from('{}'), metadata: Buffer.alloc(0) };
    this.append(
      'order-1',
      'any',
      Array.from({ length: count }, () => ({ ...event, id: randomUUID() })),
    );
    this.onceIndexed(() => {});
  }

  /** Behaves as after a restart: records remain, but the ids of recent writes are forgotten. */
  forgetRecentWrites(): void {
    this.recent.clear();
  }

  /** Behaves as after a restore of an older backup: deletes all records after the position. */
  truncateAfter(position: bigint): void {
    for (const record of this.records.splice(this.indexFrom(position + 1n))) {
      const stream = this.streams.get(record.stream)!;
      stream.pop();
      if (stream.length === 0) this.streams.delete(record.stream);
    }
    this.recent.clear();
    this.nextPosition = endOf(this.records.at(-1)!);
  }

  onAppended(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private index(): void {
    this.indexed = this.records.at(-1)?.position ?? -1n;
    for (const listener of this.listeners) listener();
    for (const callback of this.whenIndexed.splice(0)) callback();
  }

  private store(name: string, events: readonly ProposedRecord[]): AppendOutcome {
    this.write(name, events);
    const last = this.records.at(-1)!;
    for (const [at, { id }] of events.entries()) this.remember(id, name, last.revision - events.length + 1 + at);
    const outcome = { position: last.position, revision: last.revision, isRepeated: false };
    if (this.records.length % STATISTICS_EVERY < events.length)
      this.writeSystem('$stats-127.0.0.1:2113', '$statsCollected', { proc: {} });
    return outcome;
  }

  /** A copy with the same id does not replace the first event. */
  private remember(id: string, stream: string, revision: number): void {
    if (this.recent.get(id)?.stream === stream) return;
    this.recent.set(id, { stream, revision });
    if (this.recent.size > RECENT_WRITES) this.recent.delete(this.recent.keys().next().value!);
  }

  /** Writes all records of an append with one system call, so that a kill cannot split them. */
  private write(stream: string, events: readonly ProposedRecord[]): void {
    const written = events.map((event) => ({ ...event, stream, createdAt: Date.now() }));
    if (this.file !== undefined) writeSync(this.file, written.map(lineOf).join(''));
    for (const record of written) this.put(record);
  }

  private put(record: Written): void {
    let stream = this.streams.get(record.stream);
    if (stream === undefined) this.streams.set(record.stream, (stream = []));
    const stored = { ...record, position: this.nextPosition, revision: stream.length };
    this.records.push(stored);
    stream.push(stored);
    this.nextPosition = endOf(stored);
  }

  private writeSystem(name: string, type: string, data: unknown): void {
    const bytes = Buffer.from(JSON.stringify(data));
    this.write(name, [{ id: randomUUID(), type, isJson: true, data: bytes, metadata: Buffer.alloc(0) }]);
  }
}

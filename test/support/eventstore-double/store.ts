import { randomUUID } from 'node:crypto';
import { existsSync, openSync, readFileSync, writeSync } from 'node:fs';

/** A record as the server keeps it. Data and metadata are bytes: it never looks into them. */
export interface StoredRecord {
  /** Where the record begins in the log's files; an event's commit and prepare position. */
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
  | {
      readonly position: bigint;
      readonly revision: number;
      /** Whether it was there already. */
      readonly isRepeated: boolean;
    }
  /** The stream's last revision, -1 where there is none. */
  | { readonly wrongVersion: number };

/** How many appended events a server recognises by id alone; a real one held 100k and had lost them after 200k. */
const RECENT_WRITES = 150_000;
/** A real server writes its own statistics between the events of others. */
const STATISTICS_EVERY = 40;
const RECORD_OVERHEAD = 133;

type Written = ProposedRecord & Pick<StoredRecord, 'stream' | 'createdAt'>;

const lineOf = ({ data, metadata, ...record }: Written): string =>
  `${JSON.stringify({ ...record, data: Buffer.from(data).toString('base64'), metadata: Buffer.from(metadata).toString('base64') })}\n`;

const writtenOf = (line: string): Written => {
  const { data, metadata, ...record } = JSON.parse(line) as Written & { data: string; metadata: string };
  return { ...record, data: Buffer.from(data, 'base64'), metadata: Buffer.from(metadata, 'base64') };
};

/**
 * What the server keeps, with the oddities a real one was seen to have. In memory, so it outlives a server that is
 * stopped and started again, as files would; in a file as well where the process itself is to be killed.
 */
export class Store {
  readonly records: StoredRecord[] = [];
  private readonly streams = new Map<string, StoredRecord[]>();
  private readonly recent = new Map<string, { stream: string; revision: number }>();
  private readonly listeners = new Set<() => void>();
  private nextPosition = 0n;
  indexAfterMs = 0;
  /** What is told once all that is written has been indexed. */
  private whenIndexed: (() => void)[] = [];
  private indexed = -1n;
  private readonly file: number | undefined;

  /** @param path of the file that keeps what is written, and holds what was */
  constructor(path?: string) {
    if (path !== undefined && existsSync(path))
      for (const line of readFileSync(path, 'utf8').split('\n')) if (line !== '') this.put(writtenOf(line));
    if (path !== undefined) this.file = openSync(path, 'a');
    this.index();
    if (this.records.length > 0) return;
    // A server that was never used holds these all the same.
    this.writeSystem('$$$settings', '$metadata', { $acl: {} });
    this.writeSystem('$users', '$User', 'admin');
    this.writeSystem('$user-admin', '$UserCreated', { loginName: 'admin' });
  }

  stream(name: string): readonly StoredRecord[] | undefined {
    return this.streams.get(name);
  }

  /** What comes first at or after a position. */
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

  /** Whether a record begins here, or the log ends before here. */
  isReadable(position: bigint): boolean {
    return position >= this.nextPosition || this.records[this.indexFrom(position)]?.position === position;
  }

  /** Decides as the server's index writer does, the order of its checks included. */
  append(name: string, expected: Expected, events: readonly ProposedRecord[]): AppendOutcome {
    const stream = this.streams.get(name) ?? [];
    const current = stream.length - 1;
    if (expected === 'any') {
      let last: number | undefined;
      for (const { id } of events) {
        const known = this.recent.get(id);
        // Decided by the first of the events: one that is known further on is stored once more.
        if (known?.stream !== name) {
          if (last === undefined) break;
          return { wrongVersion: current };
        }
        last = known.revision;
      }
      if (last !== undefined) return { position: stream[last]!.position, revision: last, isRepeated: true };
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

  /** Whether what was written there can be read. */
  isIndexed(position: bigint): boolean {
    return position <= this.indexed;
  }

  /** Calls back when what is written now can be read: a moment later, or `indexAfterMs`. */
  onceIndexed(then: () => void): void {
    if (this.whenIndexed.length === 0) {
      if (this.indexAfterMs > 0) setTimeout(() => this.index(), this.indexAfterMs);
      else setImmediate(() => this.index());
    }
    this.whenIndexed.push(then);
  }

  /** What another service writes to the same store. */
  appendForeign(count: number): void {
    const event = { type: 'OrderPlaced', isJson: true, data: Buffer.from('{}'), metadata: Buffer.alloc(0) };
    this.append(
      'order-1',
      'any',
      Array.from({ length: count }, () => ({ ...event, id: randomUUID() })),
    );
    this.onceIndexed(() => {});
  }

  /** As after a restart: what was written stays, but ids alone are recognised no more. */
  forgetRecentWrites(): void {
    this.recent.clear();
  }

  /** As from an older backup: what was written after a position is gone. */
  truncateAfter(position: bigint): void {
    for (const record of this.records.splice(this.indexFrom(position + 1n))) {
      const stream = this.streams.get(record.stream)!;
      stream.pop();
      if (stream.length === 0) this.streams.delete(record.stream);
    }
    this.recent.clear();
    const last = this.records.at(-1)!;
    this.nextPosition = last.position + BigInt(RECORD_OVERHEAD + last.data.length + last.metadata.length);
  }

  onAppended(listener: () => void): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  private index(): void {
    this.indexed = this.records.at(-1)?.position ?? -1n;
    for (const listener of this.listeners) listener();
    for (const then of this.whenIndexed.splice(0)) then();
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

  private remember(id: string, stream: string, revision: number): void {
    this.recent.set(id, { stream, revision });
    if (this.recent.size > RECENT_WRITES) this.recent.delete(this.recent.keys().next().value!);
  }

  /** All of an append, or nothing: a kill does not come between. */
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
    this.nextPosition += BigInt(RECORD_OVERHEAD + record.stream.length + record.data.length + record.metadata.length);
  }

  private writeSystem(name: string, type: string, data: unknown): void {
    const bytes = Buffer.from(JSON.stringify(data));
    this.write(name, [{ id: randomUUID(), type, isJson: true, data: bytes, metadata: Buffer.alloc(0) }]);
  }
}

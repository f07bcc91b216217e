import { randomUUID } from 'node:crypto';

/** A record as the server keeps it. Data and metadata are bytes: it never looks into them. */
export interface StoredRecord {
  /** Where the record begins in the log's files; an event's commit position. */
  readonly position: bigint;
  /** Where the append it came with begins; an event's prepare position. */
  readonly transaction: bigint;
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

export type Expected = number | 'no-stream' | 'any' | 'stream-exists';

export type AppendOutcome =
  | { readonly position: bigint; readonly revision: number }
  /** The stream's last revision, -1 where there is none. */
  | { readonly wrongVersion: number };

/** How many appended events a server recognises by id alone; a real one held 100k and had lost them after 200k. */
const RECENT_WRITES = 150_000;
/** A real server writes its own statistics between the events of others. */
const STATISTICS_EVERY = 40;
const RECORD_OVERHEAD = 133;

/**
 * What the server keeps, with the oddities a real one was seen to have. In memory, so it outlives a server that is
 * stopped and started again, as files would.
 */
export class Store {
  readonly records: StoredRecord[] = [];
  private readonly streams = new Map<string, StoredRecord[]>();
  private readonly recent = new Map<string, { stream: string; revision: number }>();
  private readonly listeners = new Set<() => void>();
  private nextPosition = 0n;

  constructor() {
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
    if (expected === 'stream-exists' && current < 0) return { wrongVersion: current };
    if (expected === 'any' || expected === 'stream-exists') {
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
      if (last !== undefined) return { position: stream[last]!.position, revision: last };
      return this.store(name, events);
    }
    const after = expected === 'no-stream' ? -1 : expected;
    if (after > current) return { wrongVersion: current };
    if (after === current) return this.store(name, events);
    for (const [at, { id }] of events.entries())
      if (stream[after + 1 + at]?.id !== id) return { wrongVersion: current };
    const revision = after + events.length;
    return { position: stream[revision]!.position, revision };
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

  private store(name: string, events: readonly ProposedRecord[]): AppendOutcome {
    const transaction = this.nextPosition;
    for (const event of events) this.write(name, event, transaction);
    const last = this.records.at(-1)!;
    const outcome = { position: last.position, revision: last.revision };
    if (this.records.length % STATISTICS_EVERY < events.length)
      this.writeSystem('$stats-127.0.0.1:2113', '$statsCollected', { proc: {} });
    for (const listener of this.listeners) listener();
    return outcome;
  }

  private write(name: string, event: ProposedRecord, transaction: bigint): void {
    let stream = this.streams.get(name);
    if (stream === undefined) this.streams.set(name, (stream = []));
    const record = {
      ...event,
      position: this.nextPosition,
      transaction,
      stream: name,
      revision: stream.length,
      createdAt: Date.now(),
    };
    this.records.push(record);
    stream.push(record);
    this.recent.set(event.id, { stream: name, revision: record.revision });
    if (this.recent.size > RECENT_WRITES) this.recent.delete(this.recent.keys().next().value!);
    this.nextPosition += BigInt(RECORD_OVERHEAD + name.length + event.data.length + event.metadata.length);
  }

  private writeSystem(name: string, type: string, data: unknown): void {
    const bytes = Buffer.from(JSON.stringify(data));
    this.write(
      name,
      { id: randomUUID(), type, isJson: true, data: bytes, metadata: Buffer.alloc(0) },
      this.nextPosition,
    );
  }
}

import { randomUUID } from 'node:crypto';
import {
  API_KEYS_STREAM,
  ERASED_TYPE,
  OPERATIONS_STREAM,
  organizationOf,
  webhooksStream,
} from '../../events/streams.js';
import { BEGINNING, type NewEvent, type RecordedEvent, WrongExpectedRevision } from '../event-log.js';
import type { ErasedPage, LogEraser, OrganizationToErase } from '../log-eraser.js';
import { bytesOf } from '../new-event.js';
import { readWithRetries } from '../read-with-retries.js';
import type { EventStoreConnection } from './connection.js';
import { copyOf, readCopy, reviewersIn, withoutReviews } from './erased-events.js';
import { appendFailure } from './failures.js';
import type { OurStreams } from './streams.js';
import type { Writer } from './writer.js';

const PAGE = 1_000;
const MAX_CONCURRENT_STREAMS = 16;
const MAX_COPIES_PER_APPEND = 200;
const MAX_BYTES_PER_APPEND = 256 * 1_024;
const TIMEOUT_MS = 1_800;

const isTombstone = ({ type }: RecordedEvent): boolean => type === '$streamDeleted';

/** Whether an event in a shared stream has a part that belongs to the organization. */
const isPartly = (event: RecordedEvent, { organization, isKey }: OrganizationToErase): boolean => {
  const { stream, type, data } = event;
  const { keyId, organization: owner } = (data ?? {}) as { keyId?: unknown; organization?: unknown };
  if (stream === API_KEYS_STREAM)
    return type === 'ApiKeyIssued'
      ? owner === organization
      : type === 'ApiKeyRevoked' && typeof keyId === 'string' && isKey(keyId);
  return reviewersIn(event).includes(organization);
};

/**
 * Erases organizations in an EventStoreDB. The streams of the organization are deleted with tombstones. In a stream that
 * organizations share, copies of all events without the organization are appended, and the events before the copies are
 * truncated. Each copy keeps the id of its event, so that it counts once.
 */
export class EventStoreEraser implements LogEraser {
  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly writer: Writer,
    readonly nodes: readonly string[],
  ) {}

  async names(organization: string): Promise<string[]> {
    const names: string[] = [];
    for (const { type, data } of await this.readStream(API_KEYS_STREAM)) {
      const key = data as { keyId: string; organization?: string };
      if (type === 'ApiKeyIssued' && key.organization === organization) names.push(key.keyId);
    }
    for (const { type, data } of await this.readStream(webhooksStream(organization)))
      if (type === 'WebhookCreated') names.push((data as { webhookId: string }).webhookId);
    return names;
  }

  async find(
    target: OrganizationToErase,
    onProgress: (position: bigint) => void,
  ): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    const keys = new Set<string>();
    const isKey = (keyId: string): boolean => keys.has(keyId) || target.isKey(keyId);
    for await (const page of this.pages(BEGINNING)) {
      for (const event of page) {
        const isOwn = organizationOf(event.stream) === target.organization;
        if (!isOwn && !isPartly(event, { ...target, isKey })) continue;
        if (event.type === 'ApiKeyIssued') keys.add((event.data as { keyId: string }).keyId);
        counts[event.type] = (counts[event.type] ?? 0) + 1;
      }
      onProgress(page.at(-1)!.position);
    }
    return counts;
  }

  async erase(target: OrganizationToErase, after: bigint, onPage: (page: ErasedPage) => Promise<void>): Promise<void> {
    const dropped = await this.droppedEvents();
    const end = (await readWithRetries(() => this.connection.readEnd())) ?? BEGINNING;
    for await (const page of this.pages(after)) {
      const own = page.filter(({ stream }) => organizationOf(stream) === target.organization);
      const partly = page.filter((event) => isPartly(event, target));
      const shared = new Set(partly.map(({ stream }) => stream));
      if (own.some(({ id }) => dropped.has(id))) await this.eraseReasons(new Set(own.map(({ id }) => id)));
      await this.forEach(shared, (stream) =>
        this.rewrite(
          stream,
          (event) => isPartly(event, target),
          (event) =>
            event.type === 'AssetStatusChanged'
              ? { ...event, data: withoutReviews(event.data, (organization) => organization === target.organization) }
              : undefined,
        ),
      );
      // A stream that has a tombstone in this page needs no other one.
      const deleted = new Set(own.filter(isTombstone).map(({ stream }) => stream));
      const toDelete = new Set(own.map(({ stream }) => stream).filter((stream) => !deleted.has(stream)));
      await this.forEach(toDelete, (stream) =>
        readWithRetries(() => this.connection.tombstone(this.streams.nameInStore(stream))),
      );
      const found = new Set([...own, ...partly]);
      const erased = page.filter((event) => found.has(event) && !isTombstone(event));
      const events: Record<string, number> = {};
      for (const { type } of erased) events[type] = (events[type] ?? 0) + 1;
      const position = page.at(-1)!.position;
      await onPage({ events, first: erased[0]?.position, last: erased.at(-1)?.position, position });
      if (position >= end) return;
    }
  }

  /** Yields the events of the log as they are in the store, including deleted events and tombstones. */
  private async *pages(after: bigint): AsyncGenerator<RecordedEvent[]> {
    for (let position = after; ;) {
      const from = position;
      const page = await readWithRetries(() => this.connection.readAll(from, this.streams.prefixes, PAGE));
      if (page.length === 0) return;
      position = page.at(-1)!.position;
      const own = page.flatMap((event) => {
        const stream = this.streams.nameInLog(event.stream);
        return stream === undefined ? [] : [{ ...event, stream }];
      });
      if (own.length > 0) yield own;
    }
  }

  private async readStream(stream: string): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    for (let from = 0n; ;) {
      const next = from;
      const page = await readWithRetries(() =>
        this.connection.readStream(this.streams.nameInStore(stream), next, PAGE),
      );
      for (const event of page) events.push(readCopy({ ...event, stream }));
      if (page.length < PAGE) return events;
      from = page.at(-1)!.revision + 1n;
    }
  }

  /** The ids of the parked events that an operator dropped with a reason. */
  private async droppedEvents(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for (const { type, data } of await this.readStream(OPERATIONS_STREAM))
      if (type === 'ParkedEventDropped') ids.add((data as { eventId: string }).eventId);
    return ids;
  }

  private eraseReasons(ids: ReadonlySet<string>): Promise<void> {
    const hasReason = ({ type, data }: RecordedEvent): boolean => {
      const { eventId, reason } = data as { eventId: string; reason: string };
      return type === 'ParkedEventDropped' && ids.has(eventId) && reason !== '[erased]';
    };
    return this.rewrite(OPERATIONS_STREAM, hasReason, (event) => ({
      ...event,
      data: { ...(event.data as object), reason: '[erased]' },
    }));
  }

  /**
   * Appends copies of all events of a shared stream, and truncates the stream before the copies. If another process
   * appends to the stream meanwhile, the copies are appended again after its events.
   * @param clean returns the event without the organization; undefined if nothing remains
   */
  private async rewrite(
    stream: string,
    isAffected: (event: RecordedEvent) => boolean,
    clean: (event: RecordedEvent) => RecordedEvent | undefined,
  ): Promise<void> {
    for (;;) {
      const events = await this.readStream(stream);
      if (!events.some(isAffected)) return;
      const copies = new Map<string, NewEvent>();
      for (const event of events) {
        const kept = isAffected(event) ? clean(event) : event;
        if (kept !== undefined && !copies.has(event.id)) copies.set(event.id, copyOf(kept));
      }
      // A scavenge always keeps the last event of a stream.
      if (copies.size === 0) copies.set('', { id: randomUUID(), type: ERASED_TYPE, data: {}, metadata: {} });
      const { revision } = events.at(-1)!;
      try {
        await this.appendCopies(stream, revision, [...copies.values()]);
      } catch (error) {
        if (error instanceof WrongExpectedRevision) continue;
        throw error;
      }
      return this.truncateBefore(stream, revision + 1n);
    }
  }

  private async appendCopies(stream: string, after: bigint, copies: readonly NewEvent[]): Promise<void> {
    let revision = after;
    for (let start = 0; start < copies.length;) {
      let end = start + 1;
      while (
        end < copies.length &&
        end - start < MAX_COPIES_PER_APPEND &&
        bytesOf(copies.slice(start, end + 1)) < MAX_BYTES_PER_APPEND
      )
        end++;
      const portion = copies.slice(start, end);
      const expected = revision;
      await readWithRetries(() => this.writer.append(stream, expected, portion));
      revision += BigInt(portion.length);
      start = end;
    }
  }

  /** Sets `$tb` in the metadata of a stream, and keeps everything else there. */
  private async truncateBefore(stream: string, revision: bigint): Promise<void> {
    const name = `$$${this.streams.nameInStore(stream)}`;
    await readWithRetries(async () => {
      const [last] = await this.connection.readStream(name, 'end', 1, 'backwards');
      const data = { ...(last?.data as object | undefined), $tb: Number(revision) };
      const event = { id: randomUUID(), type: '$metadata', data, metadata: {} };
      try {
        await this.connection.append(name, 'any', [event], TIMEOUT_MS);
      } catch (error) {
        throw appendFailure(name, 'any', error);
      }
    });
  }

  private async forEach(streams: ReadonlySet<string>, work: (stream: string) => Promise<void>): Promise<void> {
    const waiting = streams.values();
    const next = async (): Promise<void> => {
      for (const stream of waiting) await work(stream);
    };
    const outcomes = await Promise.allSettled(Array.from({ length: MAX_CONCURRENT_STREAMS }, next));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }
}

import { OPERATIONS_STREAM, API_KEYS_STREAM, organizationOf, webhooksStream } from '../../../events/streams.js';
import {
  BEGINNING,
  type LogRedactor,
  type RecordedEvent,
  type ErasedPage,
  type LogEraser,
  type OrganizationToErase,
} from '../../event-log.js';
import { readWithRetries } from '../../read-streams.js';
import { readCopy, type StreamRewriter, reviewersIn, withoutReviews } from './stream-rewriter.js';
import type { EventStoreConnection } from '../connection.js';
import type { OurStreams } from '../streams.js';

/** What names the organization in a decision about a parked event: a text of the operator, or the stream. */
const ERASED_FIELDS: Readonly<Record<string, string>> = { ParkedEventDropped: 'reason', ParkedEventRetried: 'stream' };

/** Redacts contents in an EventStoreDB: the streams of the records are rewritten with redacted events. */
export class EventStoreRedactor implements LogRedactor {
  constructor(
    private readonly rewriter: StreamRewriter,
    readonly nodes: readonly string[],
  ) {}

  async *pages(): AsyncGenerator<readonly RecordedEvent[]> {
    for await (const page of this.rewriter.pages(BEGINNING)) yield page.map(readCopy);
  }

  async present(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]> {
    const firsts = new Map<string, bigint>();
    await this.rewriter.forEach(new Set(events.map(({ stream }) => stream)), async (stream) => {
      const first = await this.rewriter.firstRevision(stream);
      if (first !== undefined) firsts.set(stream, first);
    });
    return events.filter(({ stream, revision }) => firsts.has(stream) && revision >= firsts.get(stream)!);
  }

  async rewrite(
    streams: ReadonlySet<string>,
    clean: (events: readonly RecordedEvent[]) => readonly RecordedEvent[],
  ): Promise<void> {
    await this.rewriter.rewriteAll(streams, (events) => (events.length === 0 ? undefined : clean(events)));
  }
}

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
 * Cleans the affected events of a stream.
 * @param clean returns the event without the organization; undefined if nothing remains
 */
const cleaned =
  (isAffected: (event: RecordedEvent) => boolean, clean: (event: RecordedEvent) => RecordedEvent | undefined) =>
  (events: readonly RecordedEvent[]): readonly RecordedEvent[] | undefined =>
    events.some(isAffected) ? events.flatMap((event) => (isAffected(event) ? (clean(event) ?? []) : event)) : undefined;

/**
 * Erases organizations in an EventStoreDB. The streams of the organization are deleted with tombstones. In a stream that
 * organizations share, copies of all events without the organization replace the events.
 */
export class EventStoreEraser implements LogEraser {
  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly rewriter: StreamRewriter,
    readonly nodes: readonly string[],
  ) {}

  async names(organization: string): Promise<string[]> {
    const names: string[] = [];
    for (const { type, data } of await this.rewriter.readStream(API_KEYS_STREAM)) {
      const key = data as { keyId: string; organization?: string };
      if (type === 'ApiKeyIssued' && key.organization === organization) names.push(key.keyId);
    }
    for (const { type, data } of await this.rewriter.readStream(webhooksStream(organization)))
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
    for await (const page of this.rewriter.pages(BEGINNING)) {
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
    const dropped = await this.decidedEvents();
    const end = (await readWithRetries(() => this.connection.readEnd())) ?? BEGINNING;
    for await (const page of this.rewriter.pages(after)) {
      const own = page.filter(({ stream }) => organizationOf(stream) === target.organization);
      const partly = page.filter((event) => isPartly(event, target));
      const shared = new Set(partly.map(({ stream }) => stream));
      if (own.some(({ id }) => dropped.has(id))) await this.eraseReasons(new Set(own.map(({ id }) => id)));
      await this.rewriter.rewriteAll(
        shared,
        cleaned(
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
      await this.rewriter.forEach(toDelete, (stream) =>
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

  /** The ids of the parked events that an operator dropped or retried. */
  private async decidedEvents(): Promise<ReadonlySet<string>> {
    const ids = new Set<string>();
    for (const { type, data } of await this.rewriter.readStream(OPERATIONS_STREAM))
      if (type in ERASED_FIELDS) ids.add((data as { eventId: string }).eventId);
    return ids;
  }

  private eraseReasons(ids: ReadonlySet<string>): Promise<void> {
    const isNamed = ({ type, data }: RecordedEvent): boolean => {
      const { eventId, ...fields } = data as Readonly<Record<string, string>>;
      return type in ERASED_FIELDS && ids.has(eventId!) && fields[ERASED_FIELDS[type]!] !== '[erased]';
    };
    const clean = cleaned(isNamed, (event) => ({
      ...event,
      data: { ...(event.data as object), [ERASED_FIELDS[event.type]!]: '[erased]' },
    }));
    return this.rewriter.rewrite(OPERATIONS_STREAM, clean);
  }
}

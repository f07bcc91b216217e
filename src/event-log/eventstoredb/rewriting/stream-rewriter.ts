import { randomUUID } from 'node:crypto';
import { reviewersOf, reviewsOf } from '../../../events/types/verdicts.js';
import { ERASED_CATEGORY, ERASED_TYPE, OPERATIONS_STREAM, organizationOf } from '../../../events/streams.js';
import type { ErasedOrganizations } from '../../erased-organizations.js';
import { type NewEvent, type RecordedEvent, WrongExpectedRevision } from '../../event-log.js';
import { Conflict } from '../../../errors.js';
import { Backoff, retry } from '../../../flow/time.js';
import { bytesOf, newEvent } from '../../new-event.js';
import { readWithRetries } from '../../read-streams.js';
import type { EventStoreConnection } from '../connection.js';
import { appendFailure } from '../failures.js';
import type { OurStreams } from '../streams.js';
import type { Writer } from '../writer.js';

/** Returns the organizations that the reviews of an event name. */
export const reviewersIn = ({ type, data }: Pick<NewEvent | RecordedEvent, 'type' | 'data'>): readonly string[] =>
  type === 'AssetStatusChanged' ? reviewersOf(data) : [];

/** Returns the organizations that an event names: the owner of its stream, of its key, or those of its reviews. */
export const organizationsOf = (stream: string, event: Pick<NewEvent | RecordedEvent, 'type' | 'data'>): unknown[] => [
  organizationOf(stream),
  ...(event.type === 'ApiKeyIssued' ? [(event.data as { organization?: unknown } | null)?.organization] : []),
  ...reviewersIn(event),
];

/** Returns the data of a verdict without the reviews of some organizations. Everything else keeps its order. */
export const withoutReviews = (data: unknown, isErased: (organization: unknown) => boolean): object => {
  const brandReviews = reviewsOf(data).filter((review) => !isErased(review?.organization));
  return { ...(data as object), brandReviews };
};

/** Makes a copy of an event, with the same id, that names the place of the original. */
const copyOf = ({ id, type, data, metadata, position, recordedAt, copyOf }: RecordedEvent): NewEvent => {
  const original = { position: String(copyOf?.position ?? position), recordedAt: copyOf?.recordedAt ?? recordedAt };
  return { id, type, data: data as object, metadata: { ...(metadata as object), copyOf: original } };
};

/**
 * Reads the place of the original from the metadata of a copy. Another program may have stored any `copyOf`: the event is
 * returned unchanged unless `copyOf` names an earlier position and a time.
 */
export const readCopy = (event: RecordedEvent): RecordedEvent => {
  const { copyOf, ...metadata } = (event.metadata ?? {}) as { readonly copyOf?: unknown };
  const { position, recordedAt } = (copyOf ?? {}) as { readonly position?: unknown; readonly recordedAt?: unknown };
  if (typeof position !== 'string' || !/^[0-9]{1,19}$/.test(position) || BigInt(position) >= event.position)
    return event;
  if (typeof recordedAt !== 'number' || !Number.isSafeInteger(recordedAt)) return event;
  return { ...event, metadata, copyOf: { position: BigInt(position), recordedAt } };
};

/**
 * Returns an event as the log has it after the erasure of organizations. A deleted event stays in `$all` until the
 * nodes are scavenged, and must not return to the read models in a rebuild.
 */
export const withoutErased = (event: RecordedEvent, erased: ErasedOrganizations): RecordedEvent => {
  if (erased.isEmpty) return event;
  const isErased = (organization: unknown): boolean => typeof organization === 'string' && erased.has(organization);
  const { stream, position } = event;
  if (!organizationsOf(stream, event).some(isErased)) return event;
  if (event.type === 'AssetStatusChanged' && organizationOf(stream) === undefined)
    return { ...event, data: withoutReviews(event.data, isErased) };
  const content = { type: ERASED_TYPE, data: {}, metadata: {} };
  if (event.type === 'ApiKeyIssued') return { ...event, ...content };
  return { ...event, ...content, stream: `${ERASED_CATEGORY}-${position}`, revision: 0n };
};

const PAGE = 1_000;
const MAX_CONCURRENT_STREAMS = 16;
const MAX_COPIES_PER_APPEND = 200;
const MAX_BYTES_PER_APPEND = 256 * 1_024;
const TIMEOUT_MS = 1_800;
const MAX_ATTEMPTS = 10;
const FIRST_BACK_OFF_MS = 10;
const MAX_BACK_OFF_MS = 200;

/**
 * Repeats work that reads a stream and appends to it, while other processes append in between.
 * @throws Conflict if that happens during each of ten attempts
 */
const retryConflicts = <Result>(stream: string, work: () => Promise<Result>): Promise<Result> => {
  const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
  let attempts = 0;
  return retry(work, (error) => {
    if (!(error instanceof WrongExpectedRevision)) return undefined;
    if (++attempts < MAX_ATTEMPTS) return backoff.next();
    throw new Conflict(`Another process keeps appending to the stream ${stream}; repeat the call later`);
  });
};

/**
 * Returns what remains of the events of a stream, in the same order; undefined if the stream stays as it is. Several
 * events may have the same id if an earlier call was killed.
 */
type Clean = (events: readonly RecordedEvent[]) => readonly RecordedEvent[] | undefined;

/**
 * Reads and rewrites streams in an EventStoreDB, which can neither change an event nor delete one from the middle of a
 * stream: copies of what remains are appended, and the events before the copies are truncated. Each copy keeps the id of
 * its event, so that it counts once. The events stay in `$all` until the nodes are scavenged.
 */
export class StreamRewriter {
  constructor(
    private readonly connection: EventStoreConnection,
    private readonly streams: OurStreams,
    private readonly writer: Writer,
  ) {}

  /** Yields the events of the log as they are in the store, including deleted events and tombstones. */
  async *pages(after: bigint): AsyncGenerator<RecordedEvent[]> {
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

  /** Reads the events of a stream without those before its truncation. */
  async readStream(stream: string): Promise<RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    for (let from = 0n; ;) {
      const page = await this.readFrom(stream, from, PAGE);
      for (const event of page) events.push(readCopy({ ...event, stream }));
      if (page.length < PAGE) return events;
      from = page.at(-1)!.revision + 1n;
    }
  }

  /** Returns the revision of the first event of a stream that is not truncated; undefined if the stream has no events. */
  async firstRevision(stream: string): Promise<bigint | undefined> {
    return (await this.readFrom(stream, 0n, 1))[0]?.revision;
  }

  /** Appends copies of what remains of a stream, and truncates the stream before the copies. */
  async rewrite(stream: string, clean: Clean): Promise<void> {
    const first = await this.appendCopies(stream, clean);
    if (first !== undefined) await this.truncateBefore(stream, first);
  }

  /**
   * Rewrites streams whose events are in the feed. Their places must count as present from the moment at which a scavenge
   * may remove the events.
   */
  async rewriteAll(streams: ReadonlySet<string>, clean: Clean): Promise<void> {
    const firstCopies = new Map<string, bigint>();
    await this.forEach(streams, async (stream) => {
      const first = await this.appendCopies(stream, clean);
      if (first !== undefined) firstCopies.set(stream, first);
    });
    if (firstCopies.size === 0) return;
    const rewritten = newEvent({ type: 'StreamsRewritten', data: { streams: firstCopies.size } });
    await readWithRetries(() => this.writer.append(OPERATIONS_STREAM, 'any', [rewritten]));
    await this.forEach(new Set(firstCopies.keys()), (stream) => this.truncateBefore(stream, firstCopies.get(stream)!));
  }

  /**
   * Appends copies of what remains of a stream. If another process appends to the stream meanwhile, the copies are
   * appended again after its events.
   * @returns the revision of the first copy; undefined if the stream stays as it is
   * @throws Conflict if another process appends during each of ten attempts
   */
  async appendCopies(stream: string, clean: Clean): Promise<bigint | undefined> {
    return retryConflicts(stream, async () => {
      const events = await this.readStream(stream);
      const remaining = clean(events);
      if (remaining === undefined) return undefined;
      const copies = new Map<string, NewEvent>();
      // The last copy counts: another call may have redacted it, and not truncated the stream yet.
      for (const event of remaining) copies.set(event.id, copyOf(event));
      // A scavenge always keeps the last event of a stream.
      if (copies.size === 0) copies.set('', { id: randomUUID(), type: ERASED_TYPE, data: {}, metadata: {} });
      const { revision } = events.at(-1)!;
      await this.append(stream, revision, [...copies.values()]);
      return revision + 1n;
    });
  }

  /**
   * Sets `$tb` in the metadata of a stream, unless it is as high already, and keeps everything else there. A process that
   * changes the metadata meanwhile may have set a higher `$tb`, which must not be lowered: the events before it would be
   * readable again.
   * @throws Conflict if another process changes the metadata during each of ten attempts
   */
  async truncateBefore(stream: string, revision: bigint): Promise<void> {
    const name = `$$${this.streams.nameInStore(stream)}`;
    const truncate = async (): Promise<void> => {
      const [last] = await this.connection.readStream(name, 'end', 1, 'backwards');
      const known = (last?.data ?? {}) as { readonly $tb?: number };
      if ((known.$tb ?? 0) >= Number(revision)) return;
      const data = { ...known, $tb: Number(revision) };
      const event = { id: randomUUID(), type: '$metadata', data, metadata: {} };
      const expected = last?.revision ?? 'no-stream';
      try {
        await this.connection.append(name, expected, [event], TIMEOUT_MS);
      } catch (error) {
        throw appendFailure(name, expected, error);
      }
    };
    await retryConflicts(name, () => readWithRetries(truncate));
  }

  /** Works on up to 16 streams at the same time. */
  async forEach(streams: ReadonlySet<string>, work: (stream: string) => Promise<void>): Promise<void> {
    const waiting = streams.values();
    const next = async (): Promise<void> => {
      for (const stream of waiting) await work(stream);
    };
    const outcomes = await Promise.allSettled(Array.from({ length: MAX_CONCURRENT_STREAMS }, next));
    const failed = outcomes.find((outcome) => outcome.status === 'rejected');
    if (failed !== undefined) throw failed.reason;
  }

  private readFrom(stream: string, revision: bigint, limit: number): Promise<RecordedEvent[]> {
    return readWithRetries(() => this.connection.readStream(this.streams.nameInStore(stream), revision, limit));
  }

  private async append(stream: string, after: bigint, copies: readonly NewEvent[]): Promise<void> {
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
}

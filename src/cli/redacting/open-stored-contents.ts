import type { Pool, PoolClient } from 'pg';
import { KEY_VERSION } from '../../assets/asset.js';
import {
  forEachBatch,
  FIND_ABOUT,
  FIND_EXPIRED,
  LOCK_EVENTS,
  REWRITE_CONTENTS,
  DISPUTED_AMONG,
  EXPIRED_AMONG,
} from '../../event-log/postgres/rewriting.js';
import { ERASED_TYPE } from '../../events/streams.js';
import { pause } from '../../flow/time.js';
import { inTransaction } from '../../postgres/transaction.js';
import {
  redactContent,
  type StoredContents,
  type Content,
  hashOfStored,
  isAbout,
  type ContentPlace,
  type OnSearched,
  recordOfAsset,
  type RedactedRecord,
  type SoughtAsset,
  type StoredContent,
} from './stored-contents.js';
import { BEGINNING, type LogRedactor, type RecordedEvent } from '../../event-log/event-log.js';
import { REDACTED } from '../../events/redacted.js';
import { ALL_PROJECTIONS } from '../../read-models/checkpoints.js';
import type { Session } from '../session.js';

/** Positions that are searched before the events found in them are redacted. Bounds the memory of the call. */
const POSITIONS_PER_ROUND = 20_000;
/** Events that are rewritten in one transaction. */
const BATCH = 500;

/** The contents of a log in PostgreSQL, which are replaced in place. */
export class ContentsInPostgres implements StoredContents {
  readonly nodes = [];

  constructor(
    private readonly pool: Pool,
    private readonly positionsPerRound: number = POSITIONS_PER_ROUND,
  ) {}

  about({ hashes, text }: SoughtAsset, end: number, onSearched: OnSearched) {
    const keyVersion = String(KEY_VERSION);
    const find = (connection: PoolClient, from: number, to: number) =>
      FIND_ABOUT.run(connection, { hashes: [...hashes], text, from, to, keyVersion });
    return this.rounds(end, find, onSearched);
  }

  outdated(version: number, end: number, onSearched: OnSearched) {
    const find = (connection: PoolClient, from: number, to: number) =>
      FIND_EXPIRED.run(connection, { from, to, version, projections: ALL_PROJECTIONS });
    return this.rounds(end, find, onSearched);
  }

  async rewrite(events: readonly ContentPlace[], onRewritten: (events: number) => void): Promise<void> {
    for (let from = 0; from < events.length; from += BATCH) {
      const positions = events.slice(from, from + BATCH).map(({ position }) => position);
      const startedAt = performance.now();
      await inTransaction(this.pool, async (connection) => {
        const stored = await LOCK_EVENTS.run(connection, { positions });
        const contents = stored
          .filter(({ type }) => type !== ERASED_TYPE)
          .map((event) => {
            const { data, metadata } = redactContent(event);
            return { position: event.position, data: JSON.stringify(data), metadata: JSON.stringify(metadata) };
          });
        await REWRITE_CONTENTS.runEach(connection, contents);
      });
      onRewritten(Math.min(from + BATCH, events.length));
      await pause(performance.now() - startedAt);
    }
  }

  private async *rounds<Row>(
    end: number,
    find: (connection: PoolClient, from: number, to: number) => Promise<Row[]>,
    onSearched: (position: number) => void,
  ): AsyncGenerator<readonly Row[]> {
    for (let from = 0; from < end; from += this.positionsPerRound) {
      const found: Row[] = [];
      const search = async (connection: PoolClient, first: number, next: number): Promise<void> => {
        found.push(...(await find(connection, first, next)));
      };
      await forEachBatch(this.pool, { from, to: Math.min(from + this.positionsPerRound, end) }, search, onSearched);
      yield found;
    }
  }
}

/** Pages of the store that are searched before the events found in them are redacted. Bounds the memory of the call. */
const PAGES_PER_ROUND = 20;
/** Streams that are rewritten before the first of them is truncated. */
const STREAMS_PER_BATCH = 1_000;

type Stored = RecordedEvent & Content;

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;

const hasContent = ({ data }: Stored): boolean => {
  const { content } = (data['asset'] ?? {}) as { readonly content?: unknown };
  return typeof content === 'string' && content !== REDACTED;
};

const isReadableResolution = ({ type, data }: Stored): boolean =>
  type === 'DisputeResolved' && typeof data['note'] === 'string' && data['note'] !== REDACTED;

/** Where an event was first stored. */
const placeOf = (event: RecordedEvent): bigint => (event.copyOf ?? event).position;

const contentOf = (event: Stored): StoredContent => {
  const { id: eventId, stream, type, data, metadata } = event;
  return { position: Number(placeOf(event)), eventId, stream, type, data, metadata };
};

/** The contents of a log in EventStoreDB, whose streams are rewritten. The tables that decide are in PostgreSQL. */
export class ContentsInStore implements StoredContents {
  readonly nodes: readonly string[];

  constructor(
    private readonly pool: Pool,
    private readonly redactor: LogRedactor,
  ) {
    this.nodes = redactor.nodes;
  }

  about(asset: SoughtAsset, end: number, onSearched: OnSearched) {
    return this.rounds(
      end,
      async (events) => {
        const resolutions = events.filter(isReadableResolution).map(({ id: eventId, data }) => ({
          eventId,
          organization: String(data['organization']),
          disputeId: String(data['disputeId']),
        }));
        const { hashes, text } = asset;
        const disputes = await DISPUTED_AMONG.runEach(this.pool, resolutions, { hashes: [...hashes], text });
        const disputed = new Map(disputes.map(({ eventId, disputedHash }) => [eventId, disputedHash]));
        return new Map(
          events.flatMap((event) => {
            const disputedHash = (isReadableResolution(event) && disputed.get(event.id)) || null;
            const isFound = disputedHash !== null || (hasContent(event) && isAbout(event, asset));
            return isFound ? [[event, { disputedHash }]] : [];
          }),
        );
      },
      onSearched,
    );
  }

  outdated(version: number, end: number, onSearched: OnSearched) {
    return this.rounds(
      end,
      async (events) => {
        const contents = events.filter(hasContent);
        const records = contents.map(({ id: eventId, type, data }) => {
          const { organization, threatId, takedownId, changeId } = data;
          return { eventId, type, data: JSON.stringify({ organization, threatId, takedownId, changeId }) };
        });
        const rows = await EXPIRED_AMONG.runEach(this.pool, records, { version, projections: ALL_PROJECTIONS });
        const expired = new Map(rows.map(({ eventId, ...newest }) => [eventId, newest]));
        return new Map(
          contents.flatMap((event) => {
            const newest = expired.get(event.id);
            return newest === undefined ? [] : [[event, newest]];
          }),
        );
      },
      onSearched,
    );
  }

  async rewrite(events: readonly ContentPlace[], onRewritten: (events: number) => void): Promise<void> {
    const idsByStream = new Map<string, Set<string>>();
    for (const { stream, eventId } of events)
      idsByStream.set(stream, (idsByStream.get(stream) ?? new Set()).add(eventId));
    const streams = [...idsByStream.keys()];
    let rewritten = 0;
    for (let from = 0; from < streams.length; from += STREAMS_PER_BATCH) {
      const batch = new Set(streams.slice(from, from + STREAMS_PER_BATCH));
      await this.redactor.rewrite(batch, (stored) => redactStream(stored, idsByStream.get(stored[0]!.stream)!));
      for (const stream of batch) rewritten += idsByStream.get(stream)!.size;
      onRewritten(rewritten);
    }
  }

  /**
   * Searches to the end of the log: if an earlier round has rewritten the stream of an event, the event is found again as
   * a copy.
   * @param find returns what the tables know of those of the events that are searched for
   */
  private async *rounds<Known>(
    end: number,
    find: (events: readonly Stored[]) => Promise<ReadonlyMap<Stored, Known>>,
    onSearched: (position: number) => void,
  ): AsyncGenerator<readonly (StoredContent & Known)[]> {
    let round: (StoredContent & Known)[] = [];
    let pages = 0;
    for await (const page of this.redactor.pages()) {
      const events = page.filter(
        (event): event is Stored => placeOf(event) < end && isObject(event.data) && isObject(event.metadata),
      );
      const found = await find(events);
      for (const event of await this.redactor.present([...found.keys()]))
        round.push({ ...contentOf(event as Stored), ...found.get(event as Stored)! });
      const { position } = page.at(-1)!;
      onSearched(Math.min(Number(position), end));
      pages += 1;
      if (pages % PAGES_PER_ROUND === 0) {
        yield round;
        round = [];
      }
    }
    yield round;
  }
}

const keyOf = ({ kind, id, assetHash }: RedactedRecord): string => JSON.stringify([kind, id, assetHash]);

/**
 * Redacts these events of a stream, and what was stored before the `ContentRedacted` of the same record, because
 * projections skip copies of `ContentRedacted`. The stream may contain originals and copies, if an earlier call was killed.
 */
const redactStream = (events: readonly RecordedEvent[], ids: ReadonlySet<string>): readonly RecordedEvent[] => {
  const redactions = new Map<string, bigint>();
  for (const event of events)
    if (event.type === 'ContentRedacted') redactions.set(keyOf(event.data as RedactedRecord), placeOf(event));
  return events.map((event) => {
    const stored = event as Stored;
    const hash = isObject(event.data) ? hashOfStored(stored) : undefined;
    const key = hash === undefined ? '' : keyOf(recordOfAsset(event.type, stored.data, hash));
    const isRedacted = ids.has(event.id) || placeOf(event) < (redactions.get(key) ?? BEGINNING);
    return isRedacted ? { ...event, ...redactContent(stored) } : event;
  });
};

export const openStoredContents = ({ pool, log }: Session, positionsPerRound?: number): StoredContents =>
  log.redactor === undefined
    ? new ContentsInPostgres(pool, positionsPerRound)
    : new ContentsInStore(pool, log.redactor);

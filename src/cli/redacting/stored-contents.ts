import { KEY_VERSION, type Asset } from '../../assets/asset.js';
import { redactData } from '../../events/redacted.js';
import { hashOf } from '../../events/stored-key.js';
import type { ContentRedacted } from '../../events/types/operations.js';
import type { UpstreamEvent } from '../../events/event.js';
import type { DisputeFiled } from '../../events/types/verdicts.js';
import { eventIdOf, OWN_SOURCE, isStreamOf, streamOf } from '../../events/streams.js';
import { recordOf } from '../../events/record.js';
import { ErasedOrganizations } from '../../event-log/erased-organizations.js';
import { newEvent } from '../../event-log/new-event.js';
import { OrganizationIsErased } from '../../errors.js';
import { databaseTime } from '../../postgres/clock.js';
import { forgetNames } from '../../lists/names/name-statements.js';
import { dropPreviousTables } from '../../read-models/previous-version.js';
import { awaitProjections } from '../projections.js';
import type { Session } from '../session.js';
import type { Result } from '../output.js';

type Fields = Readonly<Record<string, unknown>>;

/** The content of a stored event. */
export interface Content {
  readonly data: Fields;
  readonly metadata: Fields;
}

/** Returns the hash of an event's asset; undefined if the event has no valid asset. */
export const hashOfStored = ({ data, metadata }: Content): string | undefined => {
  const { type, content } = (data['asset'] ?? {}) as Partial<Asset>;
  if (typeof type !== 'string' || typeof content !== 'string') return undefined;
  return hashOf({ event: { data: { asset: { type, content } } }, metadata });
};

/** An asset to find in the log. */
export interface SoughtAsset {
  /** The hashes of the keys under which the asset may be stored, in hex; empty if the text cannot be read as an asset. */
  readonly hashes: readonly string[];
  /** The content without blanks around it. What was stored with this text has another key for some types. */
  readonly text: string;
}

/** Whether an event is about an asset: it has one of the hashes, or its content, or that of the dispute, is the text. */
export const isAbout = (event: Content, { hashes, text }: SoughtAsset): boolean => {
  const { content } = (event.data['asset'] ?? {}) as Partial<Asset>;
  const isText = (written: unknown): boolean => typeof written === 'string' && written.trim() === text;
  return isText(content) || isText(event.data['content']) || hashes.includes(hashOfStored(event) ?? '');
};

/** The content as it is stored after the redaction. The hash of the asset stays: it keeps the members of groups apart. */
export const redactContent = (content: Content): Content => {
  const { data, metadata } = content;
  const hash = hashOfStored(content);
  const { version = KEY_VERSION } = (metadata['assetKey'] ?? {}) as { readonly version?: number };
  return {
    data: redactData(data),
    metadata: hash === undefined ? metadata : { ...metadata, assetKey: { version, hash } },
  };
};

/** An event with a content. */
export interface StoredContent extends Content {
  /** Where the event was first stored. */
  readonly position: number;
  readonly eventId: string;
  readonly stream: string;
  readonly type: string;
}

interface DisputedContent extends StoredContent {
  /** The hash of the disputed asset, in hex, if the event resolves a dispute. */
  readonly disputedHash: string | null;
}

export interface OutdatedContent extends StoredContent {
  /** The version of the newest state of the record. */
  readonly version: number;
  /** The id of the event of this state. */
  readonly newestId: string;
  /** Whether the record is a deleted entry of the status history, whatever its age. */
  readonly isDeletedEntry: boolean;
}

/** Where an event with a content is in the log. */
export type ContentPlace = Pick<StoredContent, 'position' | 'eventId' | 'stream'>;

/** Called with the position up to which the log has been searched. */
export type OnSearched = (position: number) => void;

/** The contents in the log that have not been redacted. Each round of a search is small enough for the memory. */
export interface StoredContents {
  /** The nodes whose files still have redacted contents until an operator scavenges them. */
  readonly nodes: readonly string[];

  /**
   * Yields the events before a position that may be about an asset, and the resolutions of disputes about it.
   */
  about(asset: SoughtAsset, end: number, onSearched: OnSearched): AsyncIterable<readonly DisputedContent[]>;

  /**
   * Yields the events before a position with contents of threats and takedowns whose newest version is lower than
   * `version`, and of entries of the status history that are not in force and either have such a version or are deleted.
   * Leaves out parked events.
   */
  outdated(version: number, end: number, onSearched: OnSearched): AsyncIterable<readonly OutdatedContent[]>;

  /**
   * Redacts the contents of events.
   * @param onRewritten receives the number of rewritten events
   */
  rewrite(events: readonly ContentPlace[], onRewritten: (events: number) => void): Promise<void>;
}

export type RedactedRecord = Omit<ContentRedacted['data'], 'redactedAt'>;

/** An event whose content has to be redacted. */
export interface FoundEvent {
  readonly position: number;
  readonly eventId: string;
  readonly stream: string;
  readonly type: string;
  readonly record: RedactedRecord;
}

/** Events that are appended together. */
const BATCH = 500;

/** Returns the record of an event about an asset. @param assetHash the hash of the asset, in hex */
export const recordOfAsset = (type: string, data: Fields, assetHash: string): RedactedRecord => {
  const { organization, kind, id } = recordOf({ type, data } as UpstreamEvent | DisputeFiled, assetHash);
  return { organization: organization || undefined, kind: kind as RedactedRecord['kind'], id, assetHash };
};

/**
 * Leaves out the events of organizations that were erased or are being erased. The log refuses a `ContentRedacted` of
 * these organizations together with those of all others, and the erasure rewrites these events.
 */
export const withoutErased = async <Found extends FoundEvent>(
  { log }: Session,
  found: readonly Found[],
): Promise<readonly Found[]> => {
  if (found.length === 0) return found;
  const erased = new ErasedOrganizations();
  await erased.read(log);
  return found.filter(({ record: { organization } }) => organization === undefined || !erased.has(organization));
};

/** Appends one `ContentRedacted` per record and stream. @returns the position of the last one */
const appendRedactions = async <Found extends FoundEvent>(
  { pool, log }: Session,
  found: readonly Found[],
  operator: string,
  markOf: (lastEvent: Found) => number | string,
): Promise<number> => {
  const redactedAt = await databaseTime(pool);
  const records = new Map<string, { readonly stream: string; readonly last: Found }>();
  for (const last of found) {
    const { record } = last;
    const event = { type: 'ContentRedacted', data: { ...record, redactedAt } } as const;
    const stream = isStreamOf(last.stream, event) ? last.stream : streamOf(event);
    records.set(JSON.stringify([stream, record]), { stream, last });
  }
  const entries = [...records.values()].map(({ stream, last }) => {
    const { record } = last;
    const event = newEvent({ type: 'ContentRedacted', data: { ...record, redactedAt } }, { operator });
    const name = JSON.stringify([record, String(markOf(last))]);
    return { stream, event: { ...event, id: eventIdOf(OWN_SOURCE, name, event.type, stream) } };
  });
  let last = -1;
  for (let from = 0; from < entries.length; from += BATCH) {
    const batch = entries.slice(from, from + BATCH);
    const known = await log.find(batch.map(({ stream, event }) => ({ stream, id: event.id })));
    const appended = await log.appendAll(batch.filter((_, index) => known[index] === undefined));
    for (const event of [...known, ...appended]) last = Math.max(last, Number(event?.position ?? -1));
  }
  return last;
};

/**
 * Redacts the contents of events. First appends `ContentRedacted` for each record and waits until the projections have
 * applied these events, then rewrites the found events. A rebuild has the same rows at any time in between, and a call
 * that was killed can be repeated: the events of this service have the same ids again.
 * Leaves the events of an organization whose erasure starts meanwhile to the erasure.
 * @param found in the order of the log
 * @param markOf returns the same value for the last event of a record when the call is repeated, so that the repeated
 *   call appends the same `ContentRedacted`
 * @param onRewritten receives the number of rewritten events
 */
export const redactEvents = async <Found extends FoundEvent>(
  session: Session,
  contents: StoredContents,
  found: readonly Found[],
  operator: string,
  markOf: (lastEvent: Found) => number | string,
  onRewritten: (events: number) => void = () => {},
): Promise<void> => {
  let left = found;
  let last: number | undefined;
  while (last === undefined)
    try {
      last = await appendRedactions(session, left, operator, markOf);
    } catch (error) {
      if (!(error instanceof OrganizationIsErased)) throw error;
      const before = left.length;
      left = await withoutErased(session, left);
      if (left.length === before) throw error;
    }
  await dropPreviousTables(session.pool);
  await awaitProjections(session, last);
  await forgetNames(session.pool);
  await contents.rewrite(await withoutErased(session, left), onRewritten);
};

export const countByType = (found: readonly FoundEvent[]): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const { type } of found) counts[type] = (counts[type] ?? 0) + 1;
  return counts;
};

/** Adds to a result which nodes still have the redacted contents in their files. */
export const withNodesToScavenge = (
  { lines, json }: Pick<Result, 'lines'> & { readonly json: object },
  nodes: readonly string[],
): Result =>
  nodes.length === 0
    ? { lines, json }
    : {
        lines: [
          ...lines,
          ...nodes.map(
            (node) => `The EventStoreDB at ${node} has the contents until every node behind it is scavenged`,
          ),
        ],
        json: { ...json, nodesToScavenge: nodes },
      };

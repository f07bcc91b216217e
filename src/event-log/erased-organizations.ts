import { Injectable } from '@nestjs/common';
import { erasureDigest } from '../events/redacted.js';
import { OPERATIONS_STREAM } from '../events/streams.js';
import { parseEvent } from '../events/event.js';
import { BEGINNING, type EventLog, type RecordedEvent } from './event-log.js';
import { EventsLost, followStream, START_OF_STREAM } from './read-streams.js';

/** Maximum number of slugs whose answers are remembered. */
const MAX_REMEMBERED = 10_000;

/**
 * The organizations that were erased, or are being erased. Each process keeps their digests in memory. The key ring reads
 * the log for them whenever it reads the keys, four times a second.
 */
@Injectable()
export class ErasedOrganizations {
  /** The digests by the id of the log that they contain. */
  private digests = new Map<string, Set<string>>();
  private cursor = START_OF_STREAM;
  private readonly remembered = new Map<string, boolean>();
  /** The digests of the erasures that have not finished. */
  private unfinished = new Set<string>();
  /** The position of the last certificate, or of the last rewriting of streams. */
  private missingBefore = BEGINNING;

  get isEmpty(): boolean {
    return this.digests.size === 0;
  }

  has(organization: string): boolean {
    if (this.digests.size === 0) return false;
    let isErased = this.remembered.get(organization);
    if (isErased === undefined) {
      isErased = [...this.digests].some(([logId, digests]) => digests.has(erasureDigest(logId, organization)));
      if (this.remembered.size >= MAX_REMEMBERED) this.remembered.clear();
      this.remembered.set(organization, isErased);
    }
    return isErased;
  }

  /**
   * Whether an event at this position may be missing from the log because an organization was erased, or its stream
   * rewritten, later.
   */
  mayHaveErased(position: bigint): boolean {
    return this.unfinished.size > 0 || position < this.missingBefore;
  }

  /** Takes note of an event of the stream of operations. @returns whether an erasure started */
  observe({ type, data, position }: Pick<RecordedEvent, 'type' | 'data' | 'position'>): boolean {
    if (type === 'StreamsRewritten' && position > this.missingBefore) this.missingBefore = position;
    if (type !== 'OrganizationErasureStarted' && type !== 'OrganizationErased') return false;
    const { event } = parseEvent<'OrganizationErasureStarted' | 'OrganizationErased'>(type, data);
    if (!event) return false;
    const { logId, digest } = event.data;
    if (event.type === 'OrganizationErased') {
      this.unfinished.delete(digest);
      if (position > this.missingBefore) this.missingBefore = position;
      return false;
    }
    const known = this.digests.get(logId);
    if (known?.has(digest) === true) return false;
    this.digests = new Map(this.digests).set(logId, new Set(known).add(digest));
    this.unfinished.add(digest);
    this.remembered.clear();
    return true;
  }

  /**
   * Reads new events about erasures. If a failover of the log's database lost events, all events are read again.
   * @returns whether there were any
   */
  async read(log: Pick<EventLog, 'readStream'>): Promise<boolean> {
    let hasNew = false;
    const follow = (from: typeof this.cursor): Promise<typeof this.cursor> =>
      followStream(log, OPERATIONS_STREAM, 'Events about the log', from, (event) => {
        hasNew = this.observe(event) || hasNew;
      });
    try {
      this.cursor = await follow(this.cursor);
    } catch (error) {
      if (!(error instanceof EventsLost)) throw error;
      // The known erasures stay in force until all events have been read again.
      const fresh = new ErasedOrganizations();
      await fresh.read(log);
      [this.digests, this.unfinished] = [fresh.digests, fresh.unfinished];
      [this.cursor, this.missingBefore] = [fresh.cursor, fresh.missingBefore];
      this.remembered.clear();
      return true;
    }
    return hasNew;
  }
}

import { Injectable } from '@nestjs/common';
import { erasureDigest } from '../events/erasure.js';
import { OPERATIONS_STREAM } from '../events/streams.js';
import { parseEvent } from '../events/event.js';
import type { EventLog } from './event-log.js';
import { EventsLost, followStream, START_OF_STREAM } from './stream-cursor.js';

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
   * Reads new events about erasures. If a failover of the log's database lost events, all events are read again.
   * @returns whether there were any
   */
  async read(log: EventLog): Promise<boolean> {
    const started = new Map(this.digests);
    let hasNew = false;
    const follow = (from: typeof this.cursor): Promise<typeof this.cursor> =>
      followStream(log, OPERATIONS_STREAM, 'Events about the log', from, ({ type, data }) => {
        if (type !== 'OrganizationErasureStarted') return;
        const { event } = parseEvent<'OrganizationErasureStarted'>(type, data);
        if (!event) return;
        const { logId, digest } = event.data;
        started.set(logId, new Set([...(started.get(logId) ?? []), digest]));
        hasNew = true;
      });
    try {
      this.cursor = await follow(this.cursor);
    } catch (error) {
      if (!(error instanceof EventsLost)) throw error;
      started.clear();
      hasNew = true;
      this.cursor = await follow(START_OF_STREAM);
    }
    if (hasNew) {
      this.digests = started;
      this.remembered.clear();
    }
    return hasNew;
  }
}

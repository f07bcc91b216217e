import { type BeforeApplicationShutdown, Injectable, Logger } from '@nestjs/common';
import { Registry } from 'prom-client';
import { dayOf } from '../../events/instant.js';
import { reportFailures } from '../../flow/background/failure-report.js';
import { UpsertBuffer } from '../../read-models/upsert-buffer.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { throttle } from '../../flow/background/throttle.js';
import { WatchPool } from '../../read-models/pools.js';
import { addRejectedEvents } from './rejected-events.js';
import type { RejectionGroup } from './rejection-groups.js';
import { sampleOf } from './sample.js';
import type { RejectedEvents } from './statements.js';

/**
 * Stores rejected events for the operator and the senders: a count and one sample per day, key, reason and type. The table
 * is up to a second behind.
 */
@Injectable()
export class RejectionLog implements BeforeApplicationShutdown {
  private readonly logger = new Logger('ingestion');
  private readonly rows: UpsertBuffer<RejectedEvents>;
  private readonly logRejections = throttle((latest: string, count) =>
    this.logger.warn(`${count} events rejected, most recently from ${latest}; "rejected list" shows them`),
  );

  constructor(
    private readonly pool: WatchPool,
    registry: Registry = new Registry(),
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {
    this.rows = new UpsertBuffer<RejectedEvents>({
      keyOf: ({ day, keyId, reason, type }) => `${day} ${keyId} ${reason} ${type}`,
      merge: (known, { count, lastAt }) => ({
        ...known,
        count: known.count + count,
        lastAt: Math.max(known.lastAt, lastAt),
      }),
      write: (rows) => addRejectedEvents(this.pool, rows),
      // Each row has at most about 6 KiB.
      maxRows: 1_000,
      flushIntervalMs: 1_000,
      report: reportFailures('write rejected events', registry),
    });
  }

  /** @param owner the key's organization, or the key itself */
  add(owner: string, keyId: string, groups: readonly RejectionGroup[]): void {
    const now = this.clock.now();
    let sum = 0;
    for (const group of groups) {
      const { reason, type, count } = group;
      sum += count;
      this.rows.add({
        owner,
        day: dayOf(now),
        keyId,
        reason,
        type,
        count,
        lastAt: now,
        // Computed only for a new row.
        get sample() {
          return sampleOf(group);
        },
      });
    }
    const [first] = groups;
    if (first !== undefined) this.logRejections(`${keyId}: ${first.reason} (type ${first.type})`, sum);
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.rows.stop();
  }
}

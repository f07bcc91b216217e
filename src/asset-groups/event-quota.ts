import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Config } from '../config.js';
import { dayOf } from '../events/instant.js';
import { quotaUsed } from '../http/errors/quota-used.js';
import { addIngestUsage, forgetIngestUsage } from '../read-models/ingest-usage.js';

/**
 * Charges events from membership changes to the organization's daily ingest quota: a key that may write must not fill
 * the log faster than one that may ingest.
 */
@Injectable()
export class EventQuota {
  private day = 0;

  constructor(
    private readonly pool: Pool,
    private readonly config: Config,
  ) {}

  /** @throws TooManyRequests if less is left; nothing is charged then */
  async take(organization: string, events: number): Promise<void> {
    const limit = this.config.ingestEventsPerDay;
    if (limit === 0 || events === 0) return;
    const today = dayOf(Date.now());
    if (today !== this.day) await forgetIngestUsage(this.pool, (this.day = today));
    const [used] = await addIngestUsage(this.pool, today, [{ organization, events, bytes: 0 }]);
    if (used!.events <= limit) return;
    await addIngestUsage(this.pool, today, [{ organization, events: -events, bytes: 0 }]);
    throw quotaUsed(organization, limit, 'events');
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import { Config } from '../config.js';
import { DelayedFlush } from '../delayed-flush.js';
import { dayOf } from '../events/instant.js';
import { quotaUsed } from '../http/errors/quota-used.js';
import { addIngestUsage, forgetIngestUsage } from '../read-models/ingest-usage.js';

export interface Amount {
  readonly events: number;
  readonly bytes: number;
}

/** An organization's use today. */
interface Use {
  /** The total of all instances, as of the last flush. */
  known: Amount;
  /** Charged here since; a refund may make it negative. */
  pending: Amount;
  /** Settles when `known` has been read once, or the read failed. */
  readonly read: Promise<void>;
}

/** How long charges may be unknown to other instances, and lost by a kill -9. ms */
const FLUSH_EVERY_MS = 1_000;
/** The longest the first request of a day waits for the total. ms */
const MAX_READ_MS = 300;
const NOTHING: Amount = { events: 0, bytes: 0 };
const KINDS = ['events', 'bytes'] as const;

const sum = (a: Amount, b: Amount, sign = 1): Amount => ({
  events: a.events + sign * b.events,
  bytes: a.bytes + sign * b.bytes,
});

/**
 * Daily (UTC) quotas of organizations' own ingest keys. Each instance counts in memory and adds to a shared table once
 * a second, so an organization can exceed its quota by what other instances accept within a second, and a restart
 * forgets a second. If the table is unavailable, events are accepted and counted here: the log decides whether a
 * request succeeds, not a quota. Memory is one entry per organization that has such a key.
 */
@Injectable()
export class Quota implements BeforeApplicationShutdown {
  private day = 0;
  private uses = new Map<string, Use>();
  private readonly flushes = new DelayedFlush(FLUSH_EVERY_MS, () => this.flush());
  private readonly limits: Amount;
  private readonly refusals: Counter<'quota'>;

  constructor(
    private readonly pool: Pool,
    config: Config,
    registry: Registry,
  ) {
    this.limits = { events: config.ingestEventsPerDay, bytes: config.ingestBytesPerDay };
    const registers = [registry];
    const highest = (kind: keyof Amount): number => this.highest(kind);
    // Organizations are unbounded and so cannot be a label; `organizations usage` names them.
    this.refusals = new Counter({
      name: 'ingest_quota_refusals_total',
      help: 'Requests rejected because the organization had used up its daily quota',
      labelNames: ['quota'],
      registers,
    });
    for (const quota of KINDS) this.refusals.inc({ quota }, 0);
    new Gauge({
      name: 'ingest_quota_used_ratio',
      help: 'Share of its daily quota used by the organization closest to it, as far as this process knows',
      labelNames: ['quota'],
      registers,
      collect() {
        for (const quota of KINDS) this.set({ quota }, highest(quota));
      },
    });
  }

  /**
   * Charges an organization's quota.
   * @throws TooManyRequests if less is left; nothing is charged then
   */
  async take(organization: string, amount: Amount): Promise<void> {
    if (this.limits.events === 0 && this.limits.bytes === 0) return;
    const use = this.useOf(organization);
    await Promise.race([use.read, sleep(MAX_READ_MS, undefined, { ref: false })]);
    const after = sum(sum(use.known, use.pending), amount);
    for (const quota of KINDS) {
      const limit = this.limits[quota];
      if (limit === 0 || amount[quota] === 0 || after[quota] <= limit) continue;
      this.refusals.inc({ quota });
      throw quotaUsed(organization, limit, quota);
    }
    this.add(use, amount, 1);
  }

  /** Refunds what was charged today for nothing. */
  giveBack(organization: string, amount: Amount): void {
    const use = this.uses.get(organization);
    if (use !== undefined) this.add(use, amount, -1);
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
  }

  private add(use: Use, amount: Amount, sign: number): void {
    use.pending = sum(use.pending, amount, sign);
    this.flushes.schedule();
  }

  private useOf(organization: string): Use {
    const today = dayOf(Date.now());
    if (today !== this.day) {
      // The last second of the previous day is not flushed: nobody will read it.
      this.day = today;
      this.uses = new Map();
      forgetIngestUsage(this.pool, today).catch(() => {});
    }
    let use = this.uses.get(organization);
    if (use === undefined) {
      const read = addIngestUsage(this.pool, today, [{ organization, ...NOTHING }]).then(
        ([known]) => void (use!.known = known!),
        () => {},
      );
      use = { known: NOTHING, pending: NOTHING, read };
      this.uses.set(organization, use);
    }
    return use;
  }

  /** Never runs concurrently, so that no amount is sent twice. */
  private async flush(): Promise<void> {
    const [day, uses] = [this.day, this.uses];
    const sent = [...uses].filter(([, { pending }]) => pending.events !== 0 || pending.bytes !== 0);
    if (sent.length === 0) return;
    const amounts = new Map(sent.map(([organization, { pending }]) => [organization, pending]));
    const rows = [...amounts].map(([organization, amount]) => ({ organization, ...amount }));
    // If it fails, the amounts stay pending. If only the answer was lost, they count twice, which is acceptable for a
    // quota.
    for (const { organization, events, bytes } of await addIngestUsage(this.pool, day, rows)) {
      const use = uses.get(organization)!;
      use.known = { events, bytes };
      use.pending = sum(use.pending, amounts.get(organization)!, -1);
    }
  }

  private highest(kind: keyof Amount): number {
    let highest = 0;
    if (dayOf(Date.now()) === this.day)
      for (const { known, pending } of this.uses.values()) highest = Math.max(highest, known[kind] + pending[kind]);
    return this.limits[kind] === 0 ? 0 : highest / this.limits[kind];
  }
}

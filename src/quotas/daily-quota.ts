import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Counter, Gauge, Registry } from 'prom-client';
import { DatabaseClock } from '../postgres/clock.js';
import { Config } from '../runtime/config.js';
import { finishesWithin } from '../flow/deadline.js';
import { DelayedFlush } from '../flow/background/delayed-flush.js';
import { type FailureReport, reportFailures } from '../flow/background/failure-report.js';
import { TooManyRequests } from '../errors.js';
import { dayOf, MS_PER_DAY } from '../events/instant.js';
import { addIngestUsage, forgetIngestUsage } from './usage.js';

/** Events stored, and bytes of bodies sent. */
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
 * What an organization may store in a UTC day: the events of its own ingest keys, of its groups and of their members. A
 * key that may write must not fill the log faster than one that may ingest. Each instance counts in memory and adds to
 * a shared table once a second, so an organization can exceed its quota by what other instances accept within a second,
 * and a restart forgets a second. If the table is unavailable, events are accepted and counted here: the log decides
 * whether a request succeeds, not a quota. Memory is one entry per organization that stored something today.
 */
@Injectable()
export class DailyQuota implements BeforeApplicationShutdown {
  private day = 0;
  private uses = new Map<string, Use>();
  private readonly flushes: DelayedFlush;
  private readonly report: FailureReport;
  private readonly limits: Amount;
  private readonly refusals: Counter<'quota'>;

  constructor(
    private readonly pool: Pool,
    config: Config,
    registry: Registry,
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {
    this.limits = { events: config.ingestEventsPerDay, bytes: config.ingestBytesPerDay };
    this.report = reportFailures('count quotas', registry);
    this.flushes = new DelayedFlush(
      FLUSH_EVERY_MS,
      () => this.flush(),
      (error) => this.report.failed(error),
    );
    const registers = [registry];
    const highest = (kind: keyof Amount): number => this.highest(kind);
    // Organizations are unbounded and so cannot be a label; `organizations usage` names them.
    this.refusals = new Counter({
      name: 'threat_protection_ingest_quota_refusals_total',
      help: 'Requests rejected because the organization had used up its daily quota',
      labelNames: ['quota'],
      registers,
    });
    for (const quota of KINDS) this.refusals.inc({ quota }, 0);
    new Gauge({
      name: 'threat_protection_ingest_quota_used_ratio',
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
    const use = await this.read(organization);
    if (use === undefined) return;
    const after = sum(sum(use.known, use.pending), amount);
    for (const quota of KINDS)
      if (this.limits[quota] > 0 && amount[quota] > 0 && after[quota] > this.limits[quota])
        throw this.refusal(organization, quota);
    this.add(use, amount, 1);
  }

  /**
   * How many more events an organization may store today; `Infinity` without a limit. For whoever decides with it at
   * once and then calls `charge`, without anything awaited in between.
   */
  async eventsLeft(organization: string): Promise<number> {
    const use = await this.read(organization);
    if (use === undefined || this.limits.events === 0) return Number.POSITIVE_INFINITY;
    return Math.max(0, this.limits.events - use.known.events - use.pending.events);
  }

  /** Charges without asking. */
  charge(organization: string, amount: Amount): void {
    const use = this.useOf(organization);
    if (use !== undefined) this.add(use, amount, 1);
  }

  /** Refunds what was charged today for nothing. */
  giveBack(organization: string, amount: Amount): void {
    const use = this.uses.get(organization);
    if (use !== undefined) this.add(use, amount, -1);
  }

  /** The error for a request that is refused because the quota is used up; counts it. */
  refusal(organization: string, quota: keyof Amount): TooManyRequests {
    this.refusals.inc({ quota });
    return new TooManyRequests(
      Math.ceil((MS_PER_DAY - (this.clock.now() % MS_PER_DAY)) / 1_000),
      `${organization} has used its quota of ${this.limits[quota]} ${quota} per day; it resets at midnight UTC`,
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
  }

  private add(use: Use, amount: Amount, sign: 1 | -1): void {
    use.pending = sum(use.pending, amount, sign);
    this.flushes.schedule();
  }

  /** An organization's use, its total read if that does not take long; undefined if nothing is limited. */
  private async read(organization: string): Promise<Use | undefined> {
    const use = this.useOf(organization);
    if (use !== undefined) await finishesWithin(use.read, MAX_READ_MS);
    return use;
  }

  private useOf(organization: string): Use | undefined {
    if (this.limits.events === 0 && this.limits.bytes === 0) return undefined;
    const today = dayOf(this.clock.now());
    if (today !== this.day) {
      // The last second of the previous day is not flushed: nobody will read it.
      this.day = today;
      this.uses = new Map();
      forgetIngestUsage(this.pool).catch((error: unknown) => this.report.failed(error));
    }
    let use = this.uses.get(organization);
    if (use === undefined) {
      const read = addIngestUsage(this.pool, today, [{ organization, ...NOTHING }]).then(
        ([known]) => void (use!.known = known!),
        (error: unknown) => this.report.failed(error),
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
    if (dayOf(this.clock.now()) === this.day)
      for (const { known, pending } of this.uses.values()) highest = Math.max(highest, known[kind] + pending[kind]);
    return this.limits[kind] === 0 ? 0 : highest / this.limits[kind];
  }
}

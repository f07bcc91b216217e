import { Pool } from 'pg';
import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Counter, Gauge, Registry } from 'prom-client';
import { CLOCK, statement, type RowOf } from '../postgres/statement.js';
import { expiringRows, Expiry } from '../read-models/expiry.js';
import { createReadModels } from '../read-models/tables.js';
import { storeIsolated } from '../postgres/transaction.js';
import { DatabaseClock } from '../postgres/clock.js';
import { Config } from '../runtime/config.js';
import { finishesWithin } from '../flow/time.js';
import { DelayedFlush, type FailureReport, reportFailures } from '../flow/background.js';
import { TooManyRequests } from '../errors.js';
import { dayOf, formatInstant, MS_PER_DAY } from '../events/instant.js';
import { limit, limitBySetting } from '../limits.js';

/**
 * Adds amounts to the totals of organizations on a day (days since 1970), and returns the new totals over all instances.
 * Adding zero leaves a total as it is. The totals are stored, because the log does not contain the number of bytes of a
 * request.
 */
export const ADD_INGEST_USAGE = statement(
  'ingest-usage-add',
  { day: 'integer', organization: 'text[]', events: 'bigint[]', bytes: 'bigint[]' },
  { organization: 'text', events: 'bigint', bytes: 'bigint' },
  `
    insert into service.ingest_usage as u (day, organization, events, bytes)
    select :day, * from unnest(:organization, :events, :bytes) i (organization, events, bytes) order by organization
    on conflict (day, organization) do update
      set events = greatest(u.events + excluded.events, 0), bytes = greatest(u.bytes + excluded.bytes, 0)
    returning organization, events, bytes`,
);

/** The usage of all days before yesterday, by the clock of the database. */
export const OLD_INGEST_USAGE = expiringRows({
  name: 'daily quotas',
  table: 'service.ingest_usage',
  where: `t.day < (select ${CLOCK}) / 86400000 - 1`,
});

type IngestUsage = RowOf<typeof ADD_INGEST_USAGE>;

/** Reads the totals of a day for one organization, or for all organizations that stored something, most bytes first. */
export const readIngestUsage = (pool: Pool, day: number, organization?: string): Promise<IngestUsage[]> => {
  const ofDay = createReadModels(pool)
    .selectFrom('service.ingest_usage')
    .select(['organization', 'events', 'bytes'])
    .where('day', '=', day);
  return (organization === undefined ? ofDay : ofDay.where('organization', '=', organization))
    .orderBy('bytes', 'desc')
    .orderBy('organization')
    .execute();
};

/** A number of stored events, and a number of bytes: of request bodies with events, or of the events of other changes. */
export interface Amount {
  readonly events: number;
  readonly bytes: number;
}

/** What an organization has used of its quota today. */
interface Usage {
  /** The total of all instances, as of the last flush. */
  known: Amount;
  /** The amount charged by this instance since the last flush. A refund may make the amount negative. */
  pending: Amount;
  /** Settles once `known` has been read, or the read has failed. */
  readonly read: Promise<void>;
}

/**
 * The interval between flushes. Until the next flush, other instances do not know the charges of this instance, and a
 * crash loses these charges.
 */
const FLUSH_INTERVAL_MS = 1_000;
/** How long the first request of a day waits for the total of all instances. */
const READ_TIMEOUT_MS = limit('first request of a day, for the total', 300, 'ms', 'request', 'goes on');
const NOTHING: Amount = { events: 0, bytes: 0 };
const QUOTAS = ['events', 'bytes'] as const;
limitBySetting('events of own keys, and changes', 'INGEST_EVENTS_PER_DAY', 'events', 'organization and day', '429');
limitBySetting('events of own keys, and changes', 'INGEST_BYTES_PER_DAY', 'bytes', 'organization and day', '429');

const sum = (a: Amount, b: Amount, sign = 1): Amount => ({
  events: a.events + sign * b.events,
  bytes: a.bytes + sign * b.bytes,
});

/**
 * Limits what an organization may store per UTC day: the events sent with its own ingest keys, and the changes of its
 * groups, group members, webhooks and disputes. Each instance counts in memory and adds its counts to a shared table
 * once a second. An organization can therefore exceed its quota by what other instances accept within a second, and a
 * crash loses the counts of up to a second. If the table is unavailable, requests are still accepted, and this instance
 * counts them in memory. Memory holds one entry for each organization that stored something today.
 */
@Injectable()
export class DailyQuota implements BeforeApplicationShutdown {
  private day = 0;
  private usages = new Map<string, Usage>();
  private readonly flushes: DelayedFlush;
  private readonly report: FailureReport;
  private readonly limits: Amount;
  private readonly refusals: Counter<'quota'>;

  constructor(
    private readonly pool: Pool,
    config: Config,
    registry: Registry,
    private readonly clock: DatabaseClock = new DatabaseClock(),
    expiry?: Expiry,
  ) {
    expiry?.register(OLD_INGEST_USAGE);
    this.limits = { events: config.ingestEventsPerDay, bytes: config.ingestBytesPerDay };
    this.report = reportFailures('count quotas', registry);
    this.flushes = new DelayedFlush(
      FLUSH_INTERVAL_MS,
      () => this.flush(),
      (error) => this.report.failed(error),
    );
    const registers = [registry];
    const highestUsedRatio = (kind: keyof Amount): number => this.highestUsedRatio(kind);
    // The number of organizations is unlimited, so the organization is not a label. The command `organizations usage`
    // shows the usage of each organization.
    this.refusals = new Counter({
      name: 'threat_protection_ingest_quota_refusals_total',
      help: 'Requests rejected because the organization had used up its daily quota',
      labelNames: ['quota'],
      registers,
    });
    for (const quota of QUOTAS) this.refusals.inc({ quota }, 0);
    new Gauge({
      name: 'threat_protection_ingest_quota_used_ratio',
      help: 'Highest share of the daily quota that an organization has used today, among the organizations known to this process',
      labelNames: ['quota'],
      registers,
      collect() {
        for (const quota of QUOTAS) this.set({ quota }, highestUsedRatio(quota));
      },
    });
  }

  /**
   * Charges an organization's quota.
   * @returns the refusal if less than `amount` is left, in which case nothing is charged
   */
  async chargeWithinLimit(organization: string, amount: Amount): Promise<TooManyRequests | undefined> {
    const refusal = (await this.refuser(organization))(amount);
    if (refusal === undefined) this.charge(organization, amount);
    return refusal;
  }

  /**
   * Returns a function that returns the error for an amount of which less is left today, and counts the rejected
   * request. A caller that decides based on the result must call `charge` without awaiting anything in between.
   */
  async refuser(organization: string): Promise<(amount: Amount) => TooManyRequests | undefined> {
    const usage = await this.read(organization);
    return (amount) => {
      if (usage === undefined) return undefined;
      const after = sum(sum(usage.known, usage.pending), amount);
      const quota = QUOTAS.find((each) => this.limits[each] > 0 && amount[each] > 0 && after[each] > this.limits[each]);
      return quota && this.refusal(organization, quota);
    };
  }

  /** Charges an amount without checking the limit. */
  charge(organization: string, amount: Amount): void {
    const usage = this.usageOf(organization);
    if (usage !== undefined) this.add(usage, amount, 1);
  }

  /** Refunds an amount that was charged today but not stored. */
  refund(organization: string, amount: Amount): void {
    const usage = this.usages.get(organization);
    if (usage !== undefined) this.add(usage, amount, -1);
  }

  /**
   * Reads what is left of an organization's quotas today; undefined if there are no limits. The usage of the last second
   * may not be counted yet.
   * @throws the database's error
   */
  async left(organization: string) {
    const { limits } = this;
    if (limits.events === 0 && limits.bytes === 0) return undefined;
    const today = dayOf(this.clock.now());
    const [used = NOTHING] = await readIngestUsage(this.pool, today, organization);
    const leftOf = (quota: keyof Amount) =>
      limits[quota] === 0 ? undefined : { limit: limits[quota], left: Math.max(0, limits[quota] - used[quota]) };
    return {
      events: leftOf('events'),
      bytes: leftOf('bytes'),
      resetsAt: formatInstant((today + 1) * MS_PER_DAY),
    };
  }

  private refusal(organization: string, quota: keyof Amount): TooManyRequests {
    this.refusals.inc({ quota });
    return new TooManyRequests(
      Math.ceil((MS_PER_DAY - (this.clock.now() % MS_PER_DAY)) / 1_000),
      `${organization} has used its quota of ${this.limits[quota]} ${quota} per day; it resets at midnight UTC`,
    );
  }

  async beforeApplicationShutdown(): Promise<void> {
    await this.flushes.stop();
  }

  private add(usage: Usage, amount: Amount, sign: 1 | -1): void {
    usage.pending = sum(usage.pending, amount, sign);
    this.flushes.schedule();
  }

  /**
   * Returns an organization's usage, with the total of all instances if the total is read in time; undefined if there
   * are no limits.
   */
  private async read(organization: string): Promise<Usage | undefined> {
    const usage = this.usageOf(organization);
    if (usage !== undefined) await finishesWithin(usage.read, READ_TIMEOUT_MS);
    return usage;
  }

  private usageOf(organization: string): Usage | undefined {
    if (this.limits.events === 0 && this.limits.bytes === 0) return undefined;
    const today = dayOf(this.clock.now());
    if (today !== this.day) {
      // The last counts of the previous day are not flushed, because they are no longer needed.
      this.day = today;
      this.usages = new Map();
    }
    let usage = this.usages.get(organization);
    if (usage === undefined) {
      const read = ADD_INGEST_USAGE.runEach(this.pool, [{ organization, ...NOTHING }], { day: today }).then(
        ([known]) => void (usage!.known = known!),
        (error: unknown) => this.report.failed(error),
      );
      usage = { known: NOTHING, pending: NOTHING, read };
      this.usages.set(organization, usage);
    }
    return usage;
  }

  /** Adds the pending amounts to the shared table. Calls must not overlap, or amounts would be added twice. */
  private async flush(): Promise<void> {
    const [day, usages] = [this.day, this.usages];
    const changed = [...usages].filter(([, { pending }]) => pending.events !== 0 || pending.bytes !== 0);
    if (changed.length === 0) return;
    const amounts = new Map(changed.map(([organization, { pending }]) => [organization, pending]));
    const rows = [...amounts].map(([organization, amount]) => ({ organization, ...amount }));
    // If the statement fails, the amounts stay pending. If only the response of the statement is lost, the amounts
    // count twice, which is acceptable for a quota.
    await storeIsolated(
      rows,
      async (part) => {
        for (const { organization, events, bytes } of await ADD_INGEST_USAGE.runEach(this.pool, part, { day })) {
          const usage = usages.get(organization)!;
          usage.known = { events, bytes };
          usage.pending = sum(usage.pending, amounts.get(organization)!, -1);
        }
      },
      (_, error) => this.report.failed(error),
    );
  }

  private highestUsedRatio(kind: keyof Amount): number {
    let highest = 0;
    if (dayOf(this.clock.now()) === this.day)
      for (const { known, pending } of this.usages.values()) highest = Math.max(highest, known[kind] + pending[kind]);
    return this.limits[kind] === 0 ? 0 : highest / this.limits[kind];
  }
}

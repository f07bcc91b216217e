import { Injectable, Logger } from '@nestjs/common';
import { Counter, Histogram, Registry } from 'prom-client';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { LRUCache } from 'lru-cache';
import { type RejectionGroup, RejectionLog } from '../outcomes/rejection-log.js';
import { GuardedHosts } from '../../verdicts.js';
import { OrganizationIsErased, type Rejection, TooManyRequests, Unavailable } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { ErasedOrganizations } from '../../event-log/erased-organizations.js';
import { type AppendedEvent, EventLog } from '../../event-log/event-log.js';
import { maxFactsOf } from '../../events/facts.js';
import { throttle } from '../../flow/background.js';
import { TimeSlices } from '../../flow/turns.js';
import { DailyQuota } from '../../quotas/daily-quota.js';
import { RequestConcurrency } from '../../read-models/request-concurrency.js';
import { type CountFacts, sumOf, tally } from './backlog.js';
import { IngestBackpressure, newHoldBudget } from './backpressure.js';
import { UsageLog } from '../outcomes/usage-log.js';
import type { LazyEvents } from './content-mode.js';
import { decide, type Entry, type EventsOrigin, requireAccepted, type SentEvents } from './decide-events.js';

const BATCH_SIZES = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1_000];

/** Metrics of ingested events. Every label has a fixed set of values. */
@Injectable()
export class IngestMetrics {
  private readonly events: Counter<'type' | 'outcome' | 'reason'>;
  private readonly guarded: Counter;
  private readonly queryDropped: Counter;
  private readonly logger = new Logger('ingestion');
  private readonly logQueryDropped = throttle((latest: unknown, count) =>
    this.logger.warn(
      `${count} statuses apply to a page with any parameters, because these do not name it; the latest changeId is ${String(latest)}`,
    ),
  );
  private readonly bytes: Counter;
  private readonly batches: Histogram;

  constructor(registry: Registry) {
    const registers = [registry];
    this.events = new Counter({
      name: 'threat_protection_ingest_events_total',
      help: 'Events by type (other: not an upstream type), outcome and, if rejected, reason',
      labelNames: ['type', 'outcome', 'reason'],
      registers,
    });
    this.guarded = new Counter({
      name: 'threat_protection_ingest_guarded_blocks_total',
      help: 'Stored events that block a host of a guard as a whole',
      registers,
    });
    this.queryDropped = new Counter({
      name: 'threat_protection_ingest_pages_without_query_total',
      help: 'Stored statuses of a page whose link has parameters that do not name the page',
      registers,
    });
    this.bytes = new Counter({
      name: 'threat_protection_ingest_bytes_total',
      help: 'Bytes of event bodies, decompressed',
      registers,
    });
    this.batches = new Histogram({
      name: 'threat_protection_ingest_batch_events',
      help: 'Events per request',
      buckets: BATCH_SIZES,
      registers,
    });
  }

  addRequest(bytes: number, events: number, groups: readonly RejectionGroup[]): void {
    this.bytes.inc(bytes);
    this.batches.observe(events);
    for (const { type, reason, count } of groups) this.events.inc({ type, outcome: 'rejected', reason }, count);
  }

  addGuarded(events: number): void {
    this.guarded.inc(events);
  }

  /** @param events statuses of pages whose parameters do not name them; the log names the last one, without its content */
  addQueryDropped(events: readonly Entry[]): void {
    this.queryDropped.inc(events.length);
    const latest = events.at(-1)?.event.data;
    if (latest !== undefined) this.logQueryDropped((latest as { changeId: string }).changeId, events.length);
  }

  /** @param type an upstream type */
  add(outcome: 'accepted' | 'duplicate', type: string, count: number): void {
    this.events.inc({ type, outcome, reason: '' }, count);
  }
}

/** `accepted`, `duplicates` and `rejected` add up to the number of events sent. */
export interface RecordedEvents {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
  /** Warnings about accepted events and duplicates; absent if there are no warnings. */
  readonly warnings?: readonly Rejection[];
}

/** Records events reported by upstream. */
export class RecordEvents extends Command<AtPosition<RecordedEvents>> implements SentEvents {
  constructor(
    readonly events: LazyEvents,
    readonly latest: number,
    readonly organization: string | undefined,
    /** The size of the request body, in bytes. */
    readonly bytes = 0,
    readonly origin: EventsOrigin = {},
    readonly hasKeyOf?: SentEvents['hasKeyOf'],
  ) {
    super();
  }
}

/** Maximum number of remembered event ids: about 64 requests of 1,000 events. */
const MAX_PARTLY_STORED = 64_000;

const storedOf = (appended: readonly AppendedEvent[]): number => appended.filter(({ duplicate }) => !duplicate).length;

const lastOf = (appended: readonly AppendedEvent[]): bigint | undefined =>
  appended.reduce<bigint | undefined>(
    (last, { position }) => (last === undefined || position > last ? position : last),
    undefined,
  );

@CommandHandler(RecordEvents)
export class RecordEventsHandler implements ICommandHandler<RecordEvents> {
  /**
   * Ids of events that were stored before their request was rejected. If the request is retried, backpressure does not
   * count these events again.
   */
  private readonly partlyStored = new LRUCache<string, true>({ max: MAX_PARTLY_STORED });

  private readonly countFacts: CountFacts = ({ event }) => (this.partlyStored.has(event.id) ? 0 : maxFactsOf(event));

  constructor(
    private readonly log: EventLog,
    private readonly backpressure: IngestBackpressure,
    private readonly quota: DailyQuota,
    private readonly concurrency: RequestConcurrency,
    private readonly slices: TimeSlices,
    private readonly metrics: IngestMetrics,
    private readonly rejections: RejectionLog,
    private readonly usage: UsageLog,
    private readonly guardedHosts: GuardedHosts,
    private readonly erased: ErasedOrganizations,
  ) {}

  /**
   * @throws Invalid if every event is rejected; Unavailable if the log cannot be reached
   * @throws TooManyRequests if the organization has used up its daily quota and not every event is stored already, or too
   *   many of its events wait to be counted
   */
  async execute(command: RecordEvents): Promise<AtPosition<RecordedEvents>> {
    const { organization, bytes, origin } = command;
    const owner = organization ?? origin.keyId ?? '';
    // The retry of a stored request costs nothing, so it is recognised even if the quota is used up.
    let refusal =
      organization === undefined ? undefined : await this.quota.chargeWithinLimit(organization, { events: 0, bytes });
    const requireRoom = (first: readonly Entry[]): void => this.backpressure.requireRoom(tally(first, this.countFacts));
    const work = decide(command, this.guardedHosts, this.erased, requireRoom);
    const decision = await this.slices.run(owner, work).catch((error: unknown) => {
      const isCharged = organization !== undefined && refusal === undefined && error instanceof TooManyRequests;
      if (isCharged) this.quota.refund(organization, { events: 0, bytes });
      throw error;
    });
    const { entries, repeated, rejected, warnings, groups } = decision;
    this.metrics.addRequest(bytes, entries.length + repeated.length + rejected.length, groups);
    this.rejections.add(owner, origin.keyId ?? '', groups);
    for (const { type, count } of groups) this.usage.add(owner, 'rejected', type, count);
    requireAccepted(decision);
    const appended: AppendedEvent[] = [];
    let charged = 0;
    const chargedBytes = refusal === undefined ? bytes : 0;
    let unusedBytes = chargedBytes;
    try {
      if (organization !== undefined)
        refusal ??= await this.quota.chargeWithinLimit(organization, { events: entries.length, bytes: 0 });
      if (refusal === undefined) {
        charged = entries.length;
        await this.append(organization, entries, appended);
      } else {
        // Without a limit, an organization could have the log searched for as long as its quota is used up.
        const keys = entries.map(({ stream, event: { id } }) => ({ stream, id }));
        const found = await this.concurrency.run(owner, undefined, () => this.log.find(keys));
        for (const event of found) {
          if (event === undefined) throw refusal;
          appended.push({ position: event.position, duplicate: true });
        }
      }
      unusedBytes = storedOf(appended) > 0 ? 0 : chargedBytes;
    } finally {
      const typesOf = (isDuplicate: boolean): string[] =>
        appended.flatMap(({ duplicate }, n) => (duplicate === isDuplicate ? [entries[n]!.event.type] : []));
      this.count(owner, 'accepted', typesOf(false));
      this.count(owner, 'duplicate', typesOf(true));
      // A request that is rejected may have been stored in part.
      const stored = entries.filter((_, n) => appended[n]?.duplicate === false);
      this.metrics.addGuarded(stored.filter(({ isGuarded }) => isGuarded).length);
      this.metrics.addQueryDropped(stored.filter(({ isQueryDropped }) => isQueryDropped));
      // Only newly stored events are charged. An event that was not stored is charged when it is sent again.
      const events = charged - storedOf(appended);
      if (organization !== undefined) this.quota.refund(organization, { events, bytes: unusedBytes });
    }
    this.count(owner, 'duplicate', repeated);
    const stored = storedOf(appended);
    const result = {
      accepted: stored,
      duplicates: repeated.length + entries.length - stored,
      rejected,
      ...(warnings.length > 0 && { warnings }),
    };
    return { result, position: lastOf(appended) ?? (await this.log.head()) };
  }

  /** @param types one per event, upstream types only */
  private count(owner: string, outcome: 'accepted' | 'duplicate', types: readonly string[]): void {
    const counts = new Map<string, number>();
    for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
    for (const [type, events] of counts) {
      this.metrics.add(outcome, type, events);
      this.usage.add(owner, outcome, type, events);
    }
  }

  /**
   * Stores the entries in one or more appends. If an append is rejected, the earlier appends remain, and a retry of the
   * request does not count them again.
   * @param organization the organization of the key
   * @param appended receives the outcome of each stored event, even on failure
   */
  private async append(
    organization: string | undefined,
    entries: readonly Entry[],
    appended: AppendedEvent[],
  ): Promise<void> {
    const budget = newHoldBudget();
    const { countFacts } = this;
    let rest = sumOf(tally(entries, countFacts));
    while (appended.length < entries.length) {
      const portion = this.backpressure.portion(
        appended.length === 0 ? entries : entries.slice(appended.length),
        countFacts,
      );
      const facts = tally(portion, countFacts);
      try {
        await this.backpressure.admit(facts, budget, rest);
      } catch (error) {
        for (const { event } of entries.slice(0, appended.length)) this.partlyStored.set(event.id, true);
        throw error;
      }
      try {
        const outcomes = await this.log.appendAll(portion);
        appended.push(...outcomes);
        this.backpressure.stored(facts, lastOf(outcomes)!);
        rest -= sumOf(facts);
        budget.isStoredInPart = true;
      } catch (error) {
        this.backpressure.release(facts);
        // The erasure began after the events were checked. A retry of the request rejects them one by one, or its key.
        throw error instanceof OrganizationIsErased && organization === undefined
          ? new Unavailable(error.message, 1, { cause: error })
          : error;
      }
    }
  }
}

import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { LRUCache } from 'lru-cache';
import type { Rejection } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { type AppendedEvent, EventLog } from '../../event-log/event-log.js';
import { maxFactsOf } from '../../events/facts.js';
import { TimeSlices } from '../../flow/time-slices.js';
import type { Origin } from '../../http/access/origin.js';
import { DailyQuota } from '../../quotas/daily-quota.js';
import { IngestBackpressure, newPatience } from '../backpressure.js';
import { tally, type Weigh } from '../fact-counts.js';
import { IngestMetrics } from '../ingest-metrics.js';
import { RejectionLog } from '../rejections/rejection-log.js';
import { UsageLog } from '../usage/usage-log.js';
import type { ReadingEvents } from './content-mode.js';
import { decide, type Entry, requireSome, type SentEvents } from './decide-events.js';

/** The first three add up to the number of events sent. */
export interface RecordedEvents {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
  /** Of events that are accepted or duplicates; absent if there are none. */
  readonly warnings?: readonly Rejection[];
}

/** Records events reported by upstream. */
export class RecordEvents extends Command<AtPosition<RecordedEvents>> implements SentEvents {
  constructor(
    readonly events: ReadingEvents,
    readonly latest: number,
    readonly organization: string | undefined,
    /** Size of the request's body. */
    readonly bytes = 0,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

/** Event ids, of some 64 requests of 1,000 events. */
const MAX_HALF_DONE = 64_000;

const storedOf = (appended: readonly AppendedEvent[]): number => appended.filter(({ duplicate }) => !duplicate).length;

const lastOf = (appended: readonly AppendedEvent[]): bigint | undefined =>
  appended.reduce<bigint | undefined>(
    (last, { position }) => (last === undefined || position > last ? position : last),
    undefined,
  );

@CommandHandler(RecordEvents)
export class RecordEventsHandler implements ICommandHandler<RecordEvents> {
  /** Ids stored by requests that were then rejected part way, so that each retry gets further. */
  private readonly halfDone = new LRUCache<string, true>({ max: MAX_HALF_DONE });

  constructor(
    private readonly log: EventLog,
    private readonly pace: IngestBackpressure,
    private readonly quota: DailyQuota,
    private readonly slices: TimeSlices,
    private readonly metrics: IngestMetrics,
    private readonly rejections: RejectionLog,
    private readonly usage: UsageLog,
  ) {}

  /**
   * @throws Invalid if every event is rejected; Unavailable if the log cannot be reached
   * @throws TooManyRequests if the organization has used up its daily quota, or too much of it is waiting to be counted
   */
  async execute(command: RecordEvents): Promise<AtPosition<RecordedEvents>> {
    const { organization, bytes, origin } = command;
    const owner = organization ?? origin.keyId ?? '';
    if (organization !== undefined) await this.quota.take(organization, { events: 0, bytes });
    const decision = await this.slices.run(owner, decide(command));
    const { entries, repeated, rejected, warnings, refusals } = decision;
    this.metrics.addRequest(bytes, entries.length + repeated.length + rejected.length, refusals);
    this.rejections.add(owner, origin.keyId ?? '', refusals);
    for (const { type, count } of refusals) this.usage.add(owner, 'rejected', type, count);
    requireSome(decision);
    if (organization !== undefined) await this.quota.take(organization, { events: entries.length, bytes: 0 });
    const appended: AppendedEvent[] = [];
    let returned = bytes;
    try {
      await this.append(entries, appended);
      returned = 0;
    } finally {
      const typesOf = (isDuplicate: boolean): string[] =>
        appended.flatMap(({ duplicate }, n) => (duplicate === isDuplicate ? [entries[n]!.event.type] : []));
      this.count(owner, 'accepted', typesOf(false));
      this.count(owner, 'duplicate', typesOf(true));
      // Only newly stored events are charged: duplicates never are, anything else when it is sent again.
      const events = entries.length - storedOf(appended);
      if (organization !== undefined) this.quota.giveBack(organization, { events, bytes: returned });
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
   * Appends done before one is rejected stay, and cost nothing when the request is retried.
   * @param appended filled in even on failure: what became of each event
   */
  private async append(entries: readonly Entry[], appended: AppendedEvent[]): Promise<void> {
    const patience = newPatience();
    const weigh: Weigh = ({ event }) => (this.halfDone.has(event.id) ? 0 : maxFactsOf(event));
    while (appended.length < entries.length) {
      const portion = this.pace.portion(appended.length === 0 ? entries : entries.slice(appended.length), weigh);
      const facts = tally(portion, weigh);
      try {
        await this.pace.admit(facts, patience);
      } catch (error) {
        for (const { event } of entries.slice(0, appended.length)) this.halfDone.set(event.id, true);
        throw error;
      }
      try {
        const answers = await this.log.appendAll(portion);
        appended.push(...answers);
        this.pace.stored(facts, lastOf(answers)!);
      } catch (error) {
        this.pace.release(facts);
        throw error;
      }
    }
  }
}

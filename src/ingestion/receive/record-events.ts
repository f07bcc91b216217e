import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { LRUCache } from 'lru-cache';
import type { Rejection } from '../../errors.js';
import { EventLog } from '../../event-log/event-log.js';
import { factsAtMost } from '../../events/facts-at-most.js';
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
export class RecordEvents extends Command<RecordedEvents> implements SentEvents {
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

const storedOf = (known: readonly boolean[]): number => known.filter((isDuplicate) => !isDuplicate).length;

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
  async execute(command: RecordEvents): Promise<RecordedEvents> {
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
    const known: boolean[] = [];
    let returned = bytes;
    try {
      await this.append(entries, known);
      returned = 0;
    } finally {
      const typesOf = (isDuplicate: boolean): string[] =>
        known.flatMap((each, n) => (each === isDuplicate ? [entries[n]!.event.type] : []));
      this.count(owner, 'accepted', typesOf(false));
      this.count(owner, 'duplicate', typesOf(true));
      // Only newly stored events are charged: duplicates never are, anything else when it is sent again.
      const events = entries.length - storedOf(known);
      if (organization !== undefined) this.quota.giveBack(organization, { events, bytes: returned });
    }
    this.count(owner, 'duplicate', repeated);
    const stored = storedOf(known);
    return {
      accepted: stored,
      duplicates: repeated.length + entries.length - stored,
      rejected,
      ...(warnings.length > 0 && { warnings }),
    };
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
   * @param known filled in even on failure: whether each event was already stored
   */
  private async append(entries: readonly Entry[], known: boolean[]): Promise<void> {
    const patience = newPatience();
    const weigh: Weigh = ({ event }) => (this.halfDone.has(event.id) ? 0 : factsAtMost(event));
    while (known.length < entries.length) {
      const portion = this.pace.portion(known.length === 0 ? entries : entries.slice(known.length), weigh);
      const facts = tally(portion, weigh);
      try {
        await this.pace.admit(facts, patience);
      } catch (error) {
        for (const { event } of entries.slice(0, known.length)) this.halfDone.set(event.id, true);
        throw error;
      }
      try {
        known.push(...(await this.log.appendAll(portion)));
        this.pace.stored(facts);
      } catch (error) {
        this.pace.release(facts);
        throw error;
      }
    }
  }
}

import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { LRUCache } from 'lru-cache';
import { Invalid, type Rejection } from '../errors.js';
import { eventIdOf, MAX_ID_LENGTH } from '../events/event-id.js';
import { EventLog, type NewEvent } from '../event-log/event-log.js';
import { isKnownType, isUpstreamType, parseEvent, toJson } from '../events/event.js';
import { factsAtMost } from '../events/facts-at-most.js';
import { formatInstant } from '../events/instant.js';
import { streamOf } from '../events/streams.js';
import type { Origin } from '../http/access/origin.js';
import type { ReadingEvents } from './content-mode.js';
import { IngestMetrics } from './ingest-metrics.js';
import { MAX_HOLD_MS, IngestBackpressure, tally, type Weigh } from './pace.js';
import { permissionIssue } from './permission.js';
import { Quota } from './quota.js';
import { type RejectReason, type Refusal, Refusals } from './refusals.js';
import { RejectionLog } from './rejection-log.js';
import { TimeSlices, type Work } from '../cooperative/time-slices.js';

/** The three add up to the number of events sent. */
export interface RecordedEvents {
  readonly accepted: number;
  readonly duplicates: number;
  readonly rejected: readonly Rejection[];
}

/** Records events reported by upstream. */
export class RecordEvents extends Command<RecordedEvents> {
  constructor(
    /** Parsed with the same `latest`; iterated once. */
    readonly events: ReadingEvents,
    /** Later times are rejected, in ms. */
    readonly latest: number,
    /** The key's organization: restricts events to its own, and to some types. Absent: unrestricted. */
    readonly organization: string | undefined,
    /** Size of the request's body. */
    readonly bytes = 0,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

export interface Entry {
  readonly stream: string;
  readonly event: NewEvent;
}

export interface Decision {
  /** Each distinct event once. */
  readonly entries: readonly Entry[];
  /** Types of events that repeat another one of the request. */
  readonly repeated: readonly string[];
  readonly rejected: readonly Rejection[];
  /** The same for the operator. */
  readonly refusals: readonly Refusal[];
}

/** Truncates text that is sent back, because the sender controls its length. */
const cut = (text: string, longest: number): string => (text.length > longest ? `${text.slice(0, longest)}…` : text);

const quote = (type: string): string => JSON.stringify(cut(type, 64));

const typeIssue = (type: string): string =>
  isKnownType(type) ? `type ${quote(type)} is reserved for this service` : `type ${quote(type)} is unknown`;

/** Decides which events of a request to store, and which to reject and why. Pure; yields after each event. */
export function* decide({ events, latest, organization, origin }: RecordEvents): Work<Decision> {
  const entries: Entry[] = [];
  const rejected: Rejection[] = [];
  const seen = new Set<string>();
  const { traceparent } = origin;
  const refusals = new Refusals();
  const repeated: string[] = [];
  let index = -1;
  for (const sent of events) {
    yield;
    if (sent === undefined) continue;
    index += 1;
    const { id, source, type, time, data, issues } = sent;
    const reject = (reason: RejectReason, sentences: readonly string[]): void => {
      rejected.push({ index, id: id && cut(id, MAX_ID_LENGTH), issues: sentences.map((message) => ({ message })) });
      refusals.add(reason, isUpstreamType(type) ? type : 'other', sent, sentences);
    };
    if (!isUpstreamType(type)) {
      if (type === '') reject('attributes', issues);
      else reject(isKnownType(type) ? 'own-type' : 'unknown-type', [...issues, typeIssue(type)]);
      continue;
    }
    const parsed = data === undefined ? undefined : parseEvent(type, data, latest);
    if (issues.length > 0 || id === undefined || !parsed?.event) {
      reject(issues.length > 0 ? 'attributes' : 'data', [...issues, ...(parsed?.issues ?? [])]);
      continue;
    }
    const { event } = parsed;
    const forbidden = organization === undefined ? undefined : permissionIssue(event, organization);
    if (forbidden !== undefined) {
      reject('not-permitted', [forbidden]);
      continue;
    }
    const stream = streamOf(event);
    const eventId = eventIdOf(source, id, type, stream);
    if (seen.has(eventId)) {
      repeated.push(type);
      continue;
    }
    seen.add(eventId);
    const metadata = { source, id, time: formatInstant(time), ...(traceparent !== undefined && { traceparent }) };
    entries.push({ stream, event: { id: eventId, type, data: toJson(event), metadata } });
  }
  return { entries, repeated, rejected, refusals: refusals.all() };
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
    private readonly quota: Quota,
    private readonly slices: TimeSlices,
    private readonly metrics: IngestMetrics,
    private readonly rejections: RejectionLog,
  ) {}

  /**
   * @throws Invalid if every event is rejected; Unavailable if the log cannot be reached
   * @throws TooManyRequests if the organization has used up its daily quota, or too much of it is waiting to be counted
   */
  async execute(command: RecordEvents): Promise<RecordedEvents> {
    const { organization, bytes, origin } = command;
    const lane = organization ?? origin.keyId ?? '';
    if (organization !== undefined) await this.quota.take(organization, { events: 0, bytes });
    const { entries, repeated, rejected, refusals } = await this.slices.run(lane, decide(command));
    this.metrics.addRequest(bytes, entries.length + repeated.length + rejected.length, refusals);
    this.rejections.add(origin.keyId ?? '', refusals);
    if (rejected.length > 0 && entries.length === 0)
      throw new Invalid(
        rejected.length === 1 ? 'The event was rejected' : `All ${rejected.length} events were rejected`,
        rejected.flatMap(({ index, issues }) => issues.map(({ message }) => `event ${index}: ${message}`)),
        rejected,
      );
    if (organization !== undefined) await this.quota.take(organization, { events: entries.length, bytes: 0 });
    const known: boolean[] = [];
    let returned = bytes;
    try {
      await this.append(entries, known);
      returned = 0;
    } finally {
      const typesOf = (isDuplicate: boolean): string[] =>
        known.flatMap((each, n) => (each === isDuplicate ? [entries[n]!.event.type] : []));
      this.metrics.add('accepted', typesOf(false));
      this.metrics.add('duplicate', typesOf(true));
      // Only newly stored events are charged: duplicates never are, anything else when it is sent again.
      const events = entries.length - storedOf(known);
      if (organization !== undefined) this.quota.giveBack(organization, { events, bytes: returned });
    }
    this.metrics.add('duplicate', repeated);
    const stored = storedOf(known);
    return { accepted: stored, duplicates: repeated.length + entries.length - stored, rejected };
  }

  /**
   * Appends done before one is rejected stay, and cost nothing when the request is retried.
   * @param known filled in even on failure: whether each event was already stored
   */
  private async append(entries: readonly Entry[], known: boolean[]): Promise<void> {
    const until = Date.now() + MAX_HOLD_MS;
    const weigh: Weigh = ({ event }) => (this.halfDone.has(event.id) ? 0 : factsAtMost(event));
    while (known.length < entries.length) {
      const portion = this.pace.portion(known.length === 0 ? entries : entries.slice(known.length), weigh);
      const facts = tally(portion, weigh);
      try {
        await this.pace.admit(facts, until);
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

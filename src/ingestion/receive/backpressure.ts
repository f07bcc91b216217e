import { Injectable, Optional } from '@nestjs/common';
import { TooManyRequests } from '../../errors.js';
import { type Clock, monotonic, finishesWithin } from '../../flow/time.js';
import { singleFlight } from '../../flow/shared-work.js';
import { BEGINNING } from '../../event-log/event-log.js';
import { Checkpoints } from '../../read-models/checkpoints.js';
import { limit } from '../../limits.js';
import {
  BacklogLimit,
  type CountFacts,
  countBound,
  FactCounts,
  type Facts,
  type FactSource,
  sumOf,
} from './backlog.js';

const POLL_INTERVAL_MS = 20;
/** The timeout for reading the checkpoint. If the database does not respond, the append will fail. */
const CHECKPOINT_TIMEOUT_MS = 300;
/** Maximum number of requests held at the same time. The bytes of their bodies are limited by `BODIES`. */
const MAX_HELD = limit('requests held while facts are counted', 256, 'requests', 'process', '429');
const MAX_HELD_OF_ORGANIZATION = limit('requests held while facts are counted', 64, 'requests', 'organization', '429');
/** More facts than the projector counts in this time would be held in vain: their time is used up before. */
const HELD_BACKLOG_MS = limit('time until facts of held requests are counted', 1_500, 'ms', 'organization', '429');
/** Time between two readings of the checkpoint beyond which the second says nothing about the projector's rate. */
const MAX_OBSERVED_MS = 1_000;
/** The lane in `projections/registry.ts`. */
const LANE = 'counts';
/**
 * If the checkpoint has not moved for this long, the projector may have stopped. If no projector holds the lease
 * either, holding requests is useless.
 */
const PROJECTOR_STOPPED_MS = 2_000;
const RETRY_AFTER_SECONDS = 1;
const MESSAGES = {
  counting: 'Too many events are waiting to be counted; retry after the number of seconds in Retry-After',
  storing: 'Too many events are being stored; retry after the number of seconds in Retry-After',
};
/** Maximum number of tracked appends. If there are more appends, the oldest appends are assumed to be counted. */
const MAX_UNCOUNTED = 20_000;

/** Why a request is held: stored facts must be counted first, or other requests must be stored first. */
type HoldReason = keyof typeof MESSAGES;

const fullFor = (reason: HoldReason): TooManyRequests => new TooManyRequests(RETRY_AFTER_SECONDS, MESSAGES[reason]);

/** How much longer a request may be held, over all its appends, in ms. */
export interface HoldBudget {
  /** The time for the reason `counting`. A slow log does not use up this time, as long as the projector keeps up. */
  counting: number;
  /** The time for all reasons together, because a held body takes memory. */
  total: number;
  /**
   * Such a request is held rather than rejected for the reason `counting` or for want of room, because its retry would
   * report duplicates.
   */
  isStoredInPart?: boolean;
}
/** A request that is stored in part goes on after this time at the latest. */
const HELD_IN_PART_MS = limit('request held after a part of it was stored', 1_000, 'ms', 'request', 'goes on');
const HELD_WHILE_COUNTING_MS = limit('request held until facts are counted', 2_000, 'ms', 'request', '429');
const HELD_MS = limit('request held until facts are stored and counted', 10_000, 'ms', 'request', '429');
export const newHoldBudget = (): HoldBudget => ({ counting: HELD_WHILE_COUNTING_MS, total: HELD_MS });

/** A request that waits until its facts may be stored. */
interface HeldRequest {
  readonly facts: Facts;
  /** The facts of the request that are not stored yet. */
  readonly rest: number;
  /** The organization with most of the facts. */
  readonly organization: string;
  readonly budget: HoldBudget;
  /** Why the request is held; undefined until it is checked for the first time. */
  reason: HoldReason | undefined;
  /** Since when it is held, and until when its time is charged, by the injected clock, in ms. */
  readonly since: number;
  chargedUntil: number;
  readonly resolve: () => void;
  readonly reject: (error: TooManyRequests) => void;
}

/** An append whose events are stored but not counted yet. */
interface UncountedAppend {
  /** The position of the append's last event in the log. */
  readonly position: bigint;
  /** When the append finished, by the injected clock, in ms. */
  readonly since: number;
  readonly facts: Facts;
}

/**
 * Backpressure: prevents the backfill of one organization from delaying the events of other organizations. The log
 * stores events faster than the projector counts the events, and the projector counts them in order. If the backlog
 * exceeds its limit, requests of the organizations with the largest backlogs are held until the backlog shrinks, or
 * rejected with 429. The backlog is measured in facts, because one event may count as up to fifty facts, or may have
 * many KiB.
 */
@Injectable()
export class IngestBackpressure {
  private appends: UncountedAppend[] = [];
  /** The facts that are being stored, and the facts that are stored but not counted yet. */
  private readonly admitted = new FactCounts();
  /** The facts that are stored and wait only for the projector. */
  private readonly uncounted = new FactCounts();
  /** Requests that are stored in part, then the others, each in order of arrival. */
  private held: HeldRequest[] = [];
  private isPolling = false;
  private checkedAt = Number.NEGATIVE_INFINITY;
  private readonly backlog = new BacklogLimit();
  private readonly readCountedOnce = singleFlight(() => this.readCounted());
  /** The checkpoint of the metrics as last read, and when it last moved; undefined until it is read. */
  private counted: { readonly position: bigint; readonly movedAt: number } | undefined;
  /** The `asOf` of a checkpoint that does not move although appends wait, as first read; undefined if it moves. */
  private stillAsOf: number | undefined;

  constructor(
    private readonly checkpoints: Checkpoints,
    @Optional() private readonly clock: Clock = monotonic,
  ) {}

  /** Returns the first entries: as many as fit into one append, but at least one. */
  portion<Entry extends FactSource>(entries: readonly Entry[], countFacts: CountFacts = countBound): readonly Entry[] {
    // While the facts of one append are counted, those of the next are stored.
    const max = this.backlog.max / 2;
    let facts = 0;
    const end = entries.findIndex((entry, index) => (facts += countFacts(entry)) > max && index > 0);
    return end === -1 ? entries : entries.slice(0, end);
  }

  /**
   * Resolves when these facts may be stored. The facts then count as admitted until they are counted or released.
   * @param budget reduced by the time for which the request was held
   * @param rest the facts that the request has in all, if it is stored in several appends
   * @throws TooManyRequests if the budget is used up or too many requests are held
   */
  admit(facts: Facts, budget = newHoldBudget(), rest = sumOf(facts)): Promise<void> {
    // Requests that are stored in part go first, so that few of them are, and these are soon stored whole.
    const { isStoredInPart = false } = budget;
    const ahead = isStoredInPart ? this.held.filter((one) => one.budget.isStoredInPart) : this.held;
    // A request of an organization with a large backlog does not overtake the requests that are held.
    const mayOvertake = ahead.length === 0 || !this.admitted.areMostlyFromHeavy(facts, this.backlog.max);
    if (mayOvertake && this.take(facts) === undefined) return Promise.resolve();
    const organization = organizationOf(facts);
    if (!isStoredInPart && !this.hasRoomFor(organization, rest)) return Promise.reject(fullFor('counting'));
    return new Promise((resolve, reject) => {
      const since = this.clock.now();
      const request = {
        facts,
        rest,
        organization,
        budget,
        reason: undefined,
        since,
        chargedUntil: since,
        resolve,
        reject,
      };
      this.held.splice(ahead.length, 0, request);
      if (!this.isPolling) void this.poll();
    });
  }

  /**
   * Refuses a request as early as possible, if it would be refused in the end.
   * @param facts those of its first events
   * @throws TooManyRequests
   */
  requireRoom(facts: Facts): void {
    if (this.held.length === 0 || !this.admitted.areMostlyFromHeavy(facts, this.backlog.max)) return;
    if (!this.hasRoomFor(organizationOf(facts), sumOf(facts))) throw fullFor('counting');
  }

  /** Whether one more request of the organization may be held. Its first request may have any number of facts. */
  private hasRoomFor(organization: string, facts: number): boolean {
    const own = this.held.filter((one) => one.organization === organization);
    if (this.held.length >= MAX_HELD || own.length >= MAX_HELD_OF_ORGANIZATION) return false;
    return (
      own.length === 0 || own.reduce((sum, { rest }) => sum + rest, facts) <= this.backlog.factsIn(HELD_BACKLOG_MS)
    );
  }

  /**
   * Marks admitted facts as stored, so that they now wait to be counted.
   * @param position the position of their last event in the log
   */
  stored(facts: Facts, position: bigint): void {
    if (this.appends.length >= MAX_UNCOUNTED) this.forget(this.appends.splice(0, MAX_UNCOUNTED / 2));
    this.uncounted.add(facts);
    this.appends.push({ position, since: this.clock.now(), facts });
  }

  /** Removes admitted facts whose append failed. */
  release(facts: Facts): void {
    this.admitted.remove(facts);
  }

  /**
   * Admits these facts if they fit. The check and the entry are in one turn of the event loop, so that requests that
   * wait for the same read of the checkpoint are not admitted together.
   * @param goesOn the facts are admitted even if they do not fit
   * @returns why the facts were not admitted; undefined if they were
   */
  private take(facts: Facts, goesOn = false): HoldReason | undefined {
    const { max } = this.backlog;
    const isHeldBy = (counts: FactCounts): boolean =>
      counts.isFullFor(facts, max) && counts.areMostlyFromHeavy(facts, max);
    if (!goesOn && isHeldBy(this.admitted)) return isHeldBy(this.uncounted) ? 'counting' : 'storing';
    this.admitted.add(facts);
    return undefined;
  }

  /** Checks the held requests in turn until none is left. */
  private async poll(): Promise<void> {
    this.isPolling = true;
    for (;;) {
      await this.refresh();
      this.checkHeld();
      if (this.held.length === 0) break;
      await this.clock.sleep(POLL_INTERVAL_MS);
    }
    this.isPolling = false;
  }

  private checkHeld(): void {
    const now = this.clock.now();
    this.held = this.held.filter((request) => {
      const { facts, budget, reason: before, since, chargedUntil } = request;
      if (before !== undefined) budget.total -= now - chargedUntil;
      if (before === 'counting') budget.counting -= now - chargedUntil;
      const { isStoredInPart = false } = budget;
      const reason = this.take(facts, isStoredInPart && now - since >= HELD_IN_PART_MS);
      if (reason === undefined) request.resolve();
      else if (budget.total <= 0 || (reason === 'counting' && budget.counting <= 0 && !isStoredInPart))
        request.reject(fullFor(reason));
      else {
        [request.reason, request.chargedUntil] = [reason, now];
        return true;
      }
      return false;
    });
  }

  private async refresh(): Promise<void> {
    if (this.clock.now() - this.checkedAt >= POLL_INTERVAL_MS)
      await finishesWithin(this.readCountedOnce(), CHECKPOINT_TIMEOUT_MS);
  }

  private async readCounted(): Promise<void> {
    // A failure only means that the checkpoint is unknown. Callers that need the database report the failure.
    const row = await this.checkpoints.current().then(
      (rows) => rows.get('metrics'),
      () => undefined,
    );
    const now = this.clock.now();
    const sinceChecked = now - this.checkedAt;
    this.checkedAt = now;
    const before = this.counted;
    const position = row === undefined ? (before?.position ?? BEGINNING) : BigInt(row.position);
    const movedAt =
      before === undefined ? Number.NEGATIVE_INFINITY : before.position === position ? before.movedAt : now;
    this.counted = { position, movedAt };
    const isStill = now - Math.max(movedAt, this.appends[0]?.since ?? now) > PROJECTOR_STOPPED_MS;
    // A projector that is only slow still holds its lease: its backlog must not be forgotten. If the lease cannot be
    // read, the database is unavailable to the projector as well.
    const isStopped = isStill && !(await this.checkpoints.isProjecting(LANE).catch(() => false));
    // A projector that reads on without moving is at the end of the log: a failover has lost the appends.
    this.stillAsOf = isStill && row !== undefined ? (this.stillAsOf ?? row.asOf) : undefined;
    const isAtEnd = row !== undefined && this.stillAsOf !== undefined && row.asOf > this.stillAsOf;
    const isNoLongerWaiting = (append: UncountedAppend): boolean =>
      isStopped || append.position <= position || (isAtEnd && now - append.since > PROJECTOR_STOPPED_MS);
    const [counted, uncounted] = partition(this.appends, isNoLongerWaiting);
    this.appends = uncounted;
    const waiting = this.uncounted.total;
    this.forget(counted);
    if (!isStopped && row !== undefined && sinceChecked <= MAX_OBSERVED_MS)
      this.backlog.observe(waiting, waiting - this.uncounted.total, sinceChecked);
  }

  private forget(counted: readonly UncountedAppend[]): void {
    for (const { facts } of counted) {
      this.admitted.remove(facts);
      this.uncounted.remove(facts);
    }
  }
}

const partition = <Item>(items: readonly Item[], isFirst: (item: Item) => boolean): [first: Item[], second: Item[]] => {
  const parts: [Item[], Item[]] = [[], []];
  for (const item of items) parts[isFirst(item) ? 0 : 1].push(item);
  return parts;
};

/** Returns the organization with most of these facts. */
const organizationOf = (facts: Facts): string => {
  let [most, organization] = [0, ''];
  for (const [name, n] of facts) if (n > most) [most, organization] = [n, name];
  return organization;
};

import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { TooManyRequests } from '../http/answer-error.js';

/** How late events may be counted before whoever has the most of them waiting is slowed. Milliseconds. */
const TOLERATED_LAG_MS = 150;
/** Fewer events of one organization than this are counted in a moment; they are never what the others wait for. */
const HARMLESS = 500;
/** A request is held for so long at the most; then its sender is told to come again. */
const LONGEST_HOLD_MS = 2_000;
const LOOK_EVERY_MS = 20;
/** Longer than this nobody waits to learn what is counted: a database that is silent is found out by the append. */
const LONGEST_LOOK_MS = 300;
/** Bodies in memory that are held at once. */
const MOST_HELD = 64;
/** Where the projector has not moved for so long, holding anybody back helps nobody: the log takes everything. */
const STOPPED_MS = 2_000;
const RETRY_AFTER_SECONDS = 1;
/** Requests remembered as waiting; more than this are no longer told apart, and the oldest count as counted. */
const MOST_WAITING = 20_000;

const AS_OF = {
  name: 'pace-as-of',
  text: `select as_of from read.checkpoints where projection = 'metrics'`,
};

/** Events stored together and not yet counted. */
interface Waiting {
  /** When the log had them. ms */
  readonly at: number;
  readonly organizations: ReadonlyMap<string, number>;
}

/**
 * Keeps one organization's backfill from making the others wait. The log takes events faster than they can be
 * counted, and they are counted in order; so where the projector falls behind, requests of the organizations that
 * have the most waiting are held until it has caught up, and sent away with 429 if that takes too long.
 */
@Injectable()
export class Pace {
  private waiting: Waiting[] = [];
  private readonly waitingOf = new Map<string, number>();
  private held = 0;
  private lookedAt = 0;
  private looking: Promise<void> | undefined;
  private asOf = { value: 0, changedAt: 0 };

  constructor(private readonly pool: Pool) {}

  /**
   * Resolves when events of these organizations may be stored.
   * @throws TooManyRequests where they would have to wait for too long
   */
  async admit(organizations: ReadonlyMap<string, number>): Promise<void> {
    if (!(await this.isTooMuch(organizations))) return;
    if (this.held >= MOST_HELD) throw new TooManyRequests(RETRY_AFTER_SECONDS);
    this.held += 1;
    try {
      const until = Date.now() + LONGEST_HOLD_MS;
      do {
        if (Date.now() >= until) throw new TooManyRequests(RETRY_AFTER_SECONDS);
        await sleep(LOOK_EVERY_MS);
      } while (await this.isTooMuch(organizations));
    } finally {
      this.held -= 1;
    }
  }

  /** These events are in the log now and will be counted. */
  stored(organizations: ReadonlyMap<string, number>): void {
    if (this.waiting.length >= MOST_WAITING) this.forget(MOST_WAITING / 2);
    this.waiting.push({ at: Date.now(), organizations });
    for (const [organization, n] of organizations)
      this.waitingOf.set(organization, (this.waitingOf.get(organization) ?? 0) + n);
  }

  private async isTooMuch(organizations: ReadonlyMap<string, number>): Promise<boolean> {
    if (!this.isLate()) return false;
    await this.look();
    if (!this.isLate()) return false;
    let all = 0;
    for (const n of this.waitingOf.values()) all += n;
    const fairShare = Math.max(HARMLESS, all / this.waitingOf.size);
    let heavy = 0;
    let total = 0;
    for (const [organization, n] of organizations) {
      total += n;
      if ((this.waitingOf.get(organization) ?? 0) >= fairShare) heavy += n;
    }
    return heavy > total / 2;
  }

  private isLate(): boolean {
    const [oldest] = this.waiting;
    return oldest !== undefined && Date.now() - oldest.at > TOLERATED_LAG_MS;
  }

  private async look(): Promise<void> {
    if (Date.now() - this.lookedAt < LOOK_EVERY_MS) return;
    this.looking ??= this.readAsOf().finally(() => (this.looking = undefined));
    await Promise.race([this.looking, sleep(LONGEST_LOOK_MS, undefined, { ref: false })]);
  }

  private async readAsOf(): Promise<void> {
    // A database that does not answer says so to whoever needs its answer; here it only means that nothing is known.
    const asOf = await this.pool.query<{ as_of: number }>(AS_OF).then(
      ({ rows }) => rows[0]?.as_of ?? 0,
      () => 0,
    );
    const now = Date.now();
    this.lookedAt = now;
    if (asOf !== this.asOf.value) this.asOf = { value: asOf, changedAt: now };
    const counted =
      now - this.asOf.changedAt > STOPPED_MS ? this.waiting.length : this.waiting.findIndex(({ at }) => at >= asOf);
    this.forget(counted === -1 ? this.waiting.length : counted);
  }

  private forget(length: number): void {
    for (const { organizations } of this.waiting.splice(0, length))
      for (const [organization, n] of organizations) {
        const left = this.waitingOf.get(organization)! - n;
        if (left > 0) this.waitingOf.set(organization, left);
        else this.waitingOf.delete(organization);
      }
  }
}

/** How many of these events each organization has; '' = entries of the status history. */
export const tally = (entries: readonly { readonly event: { readonly data: object } }[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const { event } of entries) {
    const { organization = '' } = event.data as { organization?: string };
    counts.set(organization, (counts.get(organization) ?? 0) + 1);
  }
  return counts;
};

const MAX_ENDS = 64;
/**
 * A node that was frozen while another was elected takes itself for the leader until it hears of that (3 s, seen). One is
 * believed only after it has led for so long without a pause, but for the first one of the process.
 */
const PROBATION_MS = 5_000;
/** No other is elected while one answers within less: the least that was seen of a frozen one is 3.7 s. */
const MAX_PAUSE_MS = 2_000;

interface Asked {
  /** ms, by the wall clock */
  readonly at: number;
  /** ms, by `performance.now()` */
  readonly now: number;
  /** How many connections had been made. */
  readonly connections: number;
}

/** Where the log ended at which instant, and so up to which instant everything has been handed over. */
export class EndOfLog {
  /** Everything answered before an instant is at or before its position. */
  private ends: { readonly at: number; readonly position: bigint }[] = [];
  private asOf = 0;
  private connections: number | undefined;
  private answeredAt = 0;
  private believedFrom = Number.NEGATIVE_INFINITY;
  private behindSince: number | undefined;

  /** @param last where the log ended when it was looked at last */
  constructor(public last: bigint) {}

  /** @param asked when, and of whom; the answer has just come */
  observe(position: bigint, { at, now, connections }: Asked): void {
    this.last = position;
    const answered = performance.now();
    const hasPaused = answered - this.answeredAt > MAX_PAUSE_MS;
    if (this.connections !== undefined && (hasPaused || this.connections !== connections))
      this.believedFrom = answered + PROBATION_MS;
    this.connections = connections;
    this.answeredAt = answered;
    if (now < this.believedFrom) return;
    if (this.ends.length >= MAX_ENDS) this.ends.splice(MAX_ENDS / 2, 1);
    this.ends.push({ at, position });
  }

  /** @returns the instant (ms) up to which everything answered has been handed over, now that this position has */
  handedOver(handed: bigint): number {
    for (const { at, position } of this.ends) if (position <= handed && at > this.asOf) this.asOf = at;
    this.ends = this.ends.filter(({ at, position }) => position > handed && at > this.asOf);
    return this.asOf;
  }

  /** Whether the log has ended before a position for this long. */
  isBefore(position: bigint, ms: number): boolean {
    const now = performance.now();
    this.behindSince = this.last < position ? (this.behindSince ?? now) : undefined;
    return this.behindSince !== undefined && now - this.behindSince > ms;
  }
}

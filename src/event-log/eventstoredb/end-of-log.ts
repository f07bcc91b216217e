const MAX_ENDS = 64;
/**
 * A node frozen during an election still believes it is leader until notified (3 s observed). So after a change or a
 * pause a node is trusted only once it has led for this long; the process's first node is trusted at once.
 */
const PROBATION_MS = 5_000;
/** A leader that answers within less has not been replaced: the shortest freeze with an election was 3.7 s. */
const MAX_PAUSE_MS = 2_000;

interface Asked {
  /** ms, by the database's clock; undefined if the database did not answer */
  readonly at: number | undefined;
  /** ms, by `performance.now()` */
  readonly now: number;
  /** Connections made by then. */
  readonly connections: number;
}

/** Where the log ended at which instant, and so up to which instant everything has been delivered. */
export class EndOfLog {
  /** Everything answered before an instant is at or before its position. */
  private ends: { readonly at: number; readonly position: bigint }[] = [];
  private asOf: number | undefined;
  private connections: number | undefined;
  private answeredAt = 0;
  private trustedFrom = Number.NEGATIVE_INFINITY;
  private behindSince: number | undefined;

  /** @param last where the log ended when it was last read */
  constructor(public last: bigint) {}

  /** @param asked when and on which connection; the answer has just arrived */
  observe(position: bigint, { at, now, connections }: Asked): void {
    this.last = position;
    const answered = performance.now();
    const hasPaused = answered - this.answeredAt > MAX_PAUSE_MS;
    if (this.connections !== undefined && (hasPaused || this.connections !== connections))
      this.trustedFrom = answered + PROBATION_MS;
    this.connections = connections;
    this.answeredAt = answered;
    if (now < this.trustedFrom || at === undefined) return;
    if (this.ends.length >= MAX_ENDS) this.ends.splice(MAX_ENDS / 2, 1);
    this.ends.push({ at, position });
  }

  /**
   * @returns the instant (ms) up to which everything acknowledged has been delivered, given the delivered position;
   *   undefined if none is known. The newest observation decides, because the clock may have been set back.
   */
  deliveredUntil(delivered: bigint): number | undefined {
    const newest = this.ends.findLastIndex(({ position }) => position <= delivered);
    if (newest === -1) return this.asOf;
    this.asOf = this.ends[newest]!.at;
    this.ends = this.ends.slice(newest + 1);
    return this.asOf;
  }

  /** Whether the log has ended before a position for this long. */
  isBefore(position: bigint, ms: number): boolean {
    const now = performance.now();
    this.behindSince = this.last < position ? (this.behindSince ?? now) : undefined;
    return this.behindSince !== undefined && now - this.behindSince > ms;
  }
}

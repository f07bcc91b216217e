const MAX_RECORDS = 64;
/**
 * How long the responses of a node are not trusted after a new connection or a pause. A node that was frozen during an
 * election still behaves as the leader until it learns the result, which took up to 3 s. The first node of the process
 * is trusted at once.
 */
const PROBATION_MS = 5_000;
/**
 * A leader that responds within this time has not been replaced: freezes that led to an election took 3.7 s or more.
 */
const MAX_PAUSE_MS = 2_000;

/** The time and the connection of a request for the end of the log. */
interface HeadRequest {
  /** The time in ms by the database's clock; undefined if the database did not respond. */
  readonly at: number | undefined;
  /** The time in ms by `performance.now()`. */
  readonly now: number;
  /** Number of connections that had been made when the request was sent. */
  readonly connections: number;
}

/**
 * Records the end of the log together with the time at which it was read. These records and the delivered position
 * determine the time up to which all acknowledged events have been delivered.
 */
export class EndOfLog {
  /** Every event acknowledged before `at` is at or before `position`. */
  private records: { readonly at: number; readonly position: bigint }[] = [];
  private asOf: number | undefined;
  private connections: number | undefined;
  private answeredAt = 0;
  private trustedFrom = Number.NEGATIVE_INFINITY;
  private behindSince: number | undefined;

  /** @param last the end of the log when it was last read */
  constructor(public last: bigint) {}

  /** Records a response that has just arrived. */
  observe(position: bigint, { at, now, connections }: HeadRequest): void {
    this.last = position;
    const answered = performance.now();
    const hasPaused = answered - this.answeredAt > MAX_PAUSE_MS;
    if (this.connections !== undefined && (hasPaused || this.connections !== connections))
      this.trustedFrom = answered + PROBATION_MS;
    this.connections = connections;
    this.answeredAt = answered;
    if (now < this.trustedFrom || at === undefined) return;
    if (this.records.length >= MAX_RECORDS) this.records.splice(MAX_RECORDS / 2, 1);
    this.records.push({ at, position });
  }

  /**
   * Uses the last record at or before the delivered position, even if an earlier record has a later time, because the
   * clock may have been set back.
   * @returns the time (ms) before which every acknowledged event has been delivered; undefined if no such time is known
   */
  deliveredUntil(delivered: bigint): number | undefined {
    const newest = this.records.findLastIndex(({ position }) => position <= delivered);
    if (newest === -1) return this.asOf;
    this.asOf = this.records[newest]!.at;
    this.records = this.records.slice(newest + 1);
    return this.asOf;
  }

  /** Whether the log has ended before `position` at each call for more than `ms` milliseconds. */
  isBefore(position: bigint, ms: number): boolean {
    const now = performance.now();
    this.behindSince = this.last < position ? (this.behindSince ?? now) : undefined;
    return this.behindSince !== undefined && now - this.behindSince > ms;
  }
}

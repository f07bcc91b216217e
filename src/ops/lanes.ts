/** How long a lane may go without a heartbeat before it counts as stuck. */
const STUCK_AFTER_MS = 10_000;

/**
 * A lane is a part of the background work that one process does at a time. That process holds the lease of the lane.
 * This class records for each lane whether this process works in it or stands by, and when its loop last sent a
 * heartbeat.
 */
export class Lanes {
  private readonly states = new Map<string, { readonly isHeld: boolean; readonly at: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @param isHeld true if this process works in the lane; false if it waits for the lease of the lane */
  heartbeat(lane: string, isHeld: boolean): void {
    this.states.set(lane, { isHeld, at: this.now() });
  }

  /** The lanes without a recent heartbeat. */
  stuck(): string[] {
    const oldestAlive = this.now() - STUCK_AFTER_MS;
    return this.list().flatMap(({ lane, at }) => (at < oldestAlive ? [lane] : []));
  }

  list(): { readonly lane: string; readonly isHeld: boolean; readonly at: number }[] {
    return [...this.states].map(([lane, state]) => ({ lane, ...state }));
  }
}

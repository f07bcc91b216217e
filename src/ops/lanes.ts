/** How long one turn of a loop may take. ms */
const STUCK_AFTER_MS = 10_000;

/** What this process does in each lane, and when its loop there last turned. */
export class Lanes {
  private readonly states = new Map<string, { readonly isHeld: boolean; readonly at: number }>();

  constructor(private readonly now: () => number = () => performance.now()) {}

  /** @param isHeld whether it works there, or waits for another process to give the lane away */
  heartbeat(lane: string, isHeld: boolean): void {
    this.states.set(lane, { isHeld, at: this.now() });
  }

  /** The lanes whose loop has not turned for too long. */
  stuck(): string[] {
    const latest = this.now() - STUCK_AFTER_MS;
    return this.list().flatMap(({ lane, at }) => (at < latest ? [lane] : []));
  }

  list(): { readonly lane: string; readonly isHeld: boolean; readonly at: number }[] {
    return [...this.states].map(([lane, state]) => ({ lane, ...state }));
  }
}

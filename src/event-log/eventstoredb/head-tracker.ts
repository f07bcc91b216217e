import { BEGINNING } from '../event-log.js';
import type { EventStoreConnection } from './connection.js';

/** What is known of the end counts as current for so long. */
const FRESH_MS = 20;

/** What is known about the store's last position, by any application. */
export class HeadTracker {
  /** The furthest position seen, and when that was known to be the end. */
  private furthest = { position: BEGINNING, at: Number.NEGATIVE_INFINITY };
  private looking: Promise<unknown> | undefined;

  constructor(private readonly connection: EventStoreConnection) {}

  /** Everything the store held some 20 ms ago, by any application, is at or before this, if `refresh` was waited for. */
  get position(): bigint {
    return this.furthest.position;
  }

  /** @param at when this was the end, as `performance.now()` */
  observe(position: bigint, at: number): void {
    if (position >= this.furthest.position) this.furthest = { position, at: Math.max(at, this.furthest.at) };
  }

  /** Nothing to wait for where what is known is current. Under load it always is. */
  refresh(): Promise<unknown> | undefined {
    if (performance.now() - this.furthest.at <= FRESH_MS) return undefined;
    this.looking ??= this.read().finally(() => (this.looking = undefined));
    return this.looking;
  }

  /** Where the store ends now: whatever was answered before the call is at or before this. */
  async read(): Promise<bigint> {
    const at = performance.now();
    const end = (await this.connection.readEnd()) ?? BEGINNING;
    this.observe(end, at);
    return end;
  }
}

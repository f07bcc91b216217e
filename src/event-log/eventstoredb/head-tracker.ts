import { Unavailable } from '../../errors.js';
import { BEGINNING } from '../event-log.js';
import { singleFlight } from '../../flow/single-flight.js';
import type { EventStoreConnection } from './connection.js';

/** How long a known head position counts as fresh. */
const FRESH_MS = 20;

/** The store's last known position, by any application. */
export class HeadTracker {
  /** The furthest position seen, and when that was known to be the head. */
  private furthest = { position: BEGINNING, at: Number.NEGATIVE_INFINITY };
  private readonly readOnce = singleFlight(() => this.read());

  constructor(private readonly connection: EventStoreConnection) {}

  /** After `refresh`, everything the store held 20 ms ago, by any application, is at or before this. */
  get position(): bigint {
    return this.furthest.position;
  }

  /** @param at when this was the head, by `performance.now()` */
  observe(position: bigint, at: number): void {
    if (position >= this.furthest.position) this.furthest = { position, at: Math.max(at, this.furthest.at) };
  }

  /** Nothing to wait for if the known position is fresh. Under load it always is. */
  refresh(): Promise<unknown> | undefined {
    if (performance.now() - this.furthest.at <= FRESH_MS) return undefined;
    return this.readOnce();
  }

  /**
   * The head now: everything acknowledged before the call is at or before this. The head does not go back while the
   * store holds the furthest event that this process has seen. If the store says that it has no event there, its log was
   * replaced or restored from an older copy, and the earlier head is the head.
   * @throws Unavailable also if the store names an earlier head although it holds that event
   */
  async read(): Promise<bigint> {
    const at = performance.now();
    const known = this.furthest;
    const head = (await this.connection.readEnd()) ?? BEGINNING;
    if (head < known.position) {
      if ((await this.connection.readAt(known.position)) !== undefined)
        throw new Unavailable('EventStoreDB named an end of its log that is before an event that it holds');
      // A head that was observed in the meantime is newer than this answer.
      if (this.furthest === known) this.furthest = { position: BEGINNING, at };
    }
    this.observe(head, at);
    return head;
  }
}

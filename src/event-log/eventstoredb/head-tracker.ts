import { BEGINNING, type RecordedEvent } from '../event-log.js';
import type { EventStoreConnection } from './connection.js';

/** What is known of the end counts as current for so long. */
const FRESH_MS = 20;
const MIN_PAGE = 32;
const PAGE_GROWTH = 16;
const MAX_PAGE = 8_192;

/** What is known of where the store ends, and where our own events in it do. */
export class HeadTracker {
  /** The furthest position seen, and when that was known to be the end. */
  private furthest = { position: BEGINNING, at: Number.NEGATIVE_INFINITY };
  private looking: Promise<void> | undefined;
  /** The store was searched from its end back to `scanned`; the last event of ours up to there is `last`. */
  private ours = { scanned: BEGINNING, last: BEGINNING };

  constructor(
    private readonly connection: EventStoreConnection,
    private readonly isOurs: (event: RecordedEvent) => boolean,
  ) {}

  /** Everything the store held some 20 ms ago, whoever wrote it, is at or before this, if `refresh` was waited for. */
  get position(): bigint {
    return this.furthest.position;
  }

  /** @param at when this was the end, as `performance.now()` */
  observe(position: bigint, at: number): void {
    if (position >= this.furthest.position) this.furthest = { position, at: Math.max(at, this.furthest.at) };
  }

  /** Nothing to wait for where what is known is current. Under load it always is. */
  refresh(): Promise<void> | undefined {
    if (performance.now() - this.furthest.at <= FRESH_MS) return undefined;
    this.looking ??= this.probe().finally(() => (this.looking = undefined));
    return this.looking;
  }

  /** Position of the last of our events; `BEGINNING` where there is none. Reads back to it over what is not ours. */
  async head(): Promise<bigint> {
    const startedAt = performance.now();
    const before = this.ours;
    let newest: bigint | undefined;
    let from: bigint | 'end' = 'end';
    for (let limit = MIN_PAGE; ; limit = Math.min(limit * PAGE_GROWTH, MAX_PAGE)) {
      const page: RecordedEvent[] = await this.connection.readBack(from, limit);
      newest ??= page[0]?.position ?? BEGINNING;
      // A store that ends before where it ended is another one, or an older copy.
      const known = newest >= before.scanned ? before : { scanned: BEGINNING, last: BEGINNING };
      const last = page.find((event) => this.isOurs(event) || event.position <= known.scanned);
      if (last === undefined && page.length === limit) {
        from = page.at(-1)!.position;
        continue;
      }
      this.observe(newest, startedAt);
      const position = last === undefined ? BEGINNING : this.isOurs(last) ? last.position : known.last;
      if (newest >= this.ours.scanned || known !== before) this.ours = { scanned: newest, last: position };
      return position;
    }
  }

  private async probe(): Promise<void> {
    const at = performance.now();
    const [newest] = await this.connection.readBack('end', 1);
    if (newest !== undefined) this.observe(newest.position, at);
  }
}

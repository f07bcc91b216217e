import { type LogPosition, placeAfter, type StoredRecord } from './store.js';

/** A page ends after this many records that the filter selects, or after as many records as the search window has. */
export const PAGE_SIZE = 32;

/**
 * The checkpoints of one filtered subscription. As on a real server, the subscription reads the stored records in pages,
 * and a checkpoint is the start of the page that was just read, unless a record was sent from that page. Each page but
 * the first starts at the end of the record before it. If the last page is full, the next page is empty, so the last
 * checkpoint is the place where the next record will be written, as in versions before KurrentDB's pull request 4975.
 */
export class CatchUpPages {
  private considered = 0;
  private selected = 0;
  private sinceCheckpoint = 0;
  private reported: LogPosition | undefined;

  /**
   * @param start the position that the subscription reads from
   * @param window the maximum records of a page
   * @param interval the number of records between checkpoints; 0: no checkpoints
   */
  constructor(
    private start: LogPosition,
    private readonly window: number,
    private readonly interval: number,
  ) {}

  /** Counts a record that was stored before the subscription caught up. @returns the checkpoint that follows it */
  catchUp(record: StoredRecord, isSelected: boolean): LogPosition | undefined {
    this.considered++;
    if (isSelected) {
      this.selected++;
      this.start = { commit: record.position, prepare: record.position };
    }
    if (this.considered < this.window && this.selected < PAGE_SIZE) return undefined;
    this.sinceCheckpoint += this.considered;
    const place = this.sinceCheckpoint < this.interval ? undefined : this.report(this.start);
    if (this.interval > 0) this.sinceCheckpoint %= this.interval;
    this.start = placeAfter(record);
    this.considered = 0;
    this.selected = 0;
    return place;
  }

  /** @returns the checkpoint before the message that the subscription has caught up */
  end(): LogPosition | undefined {
    this.sinceCheckpoint = 0;
    return this.report(this.start);
  }

  /** Counts a record that was stored after the subscription had caught up. @returns the checkpoint that follows it */
  live({ position }: StoredRecord): LogPosition | undefined {
    if (++this.sinceCheckpoint < this.interval) return undefined;
    this.sinceCheckpoint = 0;
    return this.report({ commit: position, prepare: position });
  }

  /** The server does not report a checkpoint twice. */
  private report(place: LogPosition): LogPosition | undefined {
    const { reported } = this;
    const isRepeated = reported?.commit === place.commit && reported.prepare === place.prepare;
    if (this.interval === 0 || isRepeated) return undefined;
    this.reported = place;
    return place;
  }
}

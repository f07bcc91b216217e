import { ENTRY_TYPES } from '../../events/record.js';
import { reviewsOf, type StoredReview } from '../../events/types/asset-statuses.js';
import { assetStatusStream, organizationOf } from '../../events/streams.js';
import type { RecordedEvent } from '../event-log.js';

/** The data of an event before validation. */
interface Unvalidated {
  readonly organization?: unknown;
  readonly changeId?: unknown;
}

const VERDICT_TYPES: ReadonlySet<string> = new Set(ENTRY_TYPES);

/** Whether an event is an entry, or the deletion of an entry, in the status history of an asset. */
export const isVerdict = ({ stream, type }: Pick<RecordedEvent, 'stream' | 'type'>): boolean =>
  VERDICT_TYPES.has(type) && stream.startsWith(assetStatusStream(''));

/**
 * Selects the part of each event that concerns one organization: the events in its streams, and all states of the
 * verdicts that name its brands, without the brands of other organizations.
 */
export class OrganizationPart {
  /** The verdicts that name the organization in any of their states. */
  private readonly changeIds = new Set<unknown>();

  constructor(private readonly organization: string) {}

  /** Must be called for every event of the log before the first call of `of`: a deletion does not name organizations. */
  note(event: RecordedEvent): void {
    if (isVerdict(event) && this.reviews(event).length > 0) this.changeIds.add((event.data as Unvalidated).changeId);
  }

  /** Returns the part of an event that concerns the organization; undefined if the event does not concern it. */
  of(event: RecordedEvent): RecordedEvent | undefined {
    const data = (event.data ?? {}) as Unvalidated;
    if (isVerdict(event)) {
      if (!this.changeIds.has(data.changeId)) return undefined;
      return 'brandReviews' in data ? { ...event, data: { ...data, brandReviews: this.reviews(event) } } : event;
    }
    if (organizationOf(event.stream) !== this.organization) return undefined;
    // A program that appends to the log directly may have stored an event of another organization in this stream. Such
    // an event is parked. It keeps its place in the stream, but not its content.
    return data.organization === this.organization ? event : { ...event, data: {} };
  }

  private reviews({ data }: RecordedEvent): readonly StoredReview[] {
    return reviewsOf(data).filter((review) => review?.organization === this.organization);
  }
}

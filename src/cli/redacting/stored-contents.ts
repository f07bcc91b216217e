import type { Content } from './redact-content.js';

/** An event with a content. */
export interface StoredContent extends Content {
  /** Where the event was first stored. */
  readonly position: number;
  readonly eventId: string;
  readonly stream: string;
  readonly type: string;
}

export interface DisputedContent extends StoredContent {
  /** The hash of the disputed asset, in hex, if the event resolves a dispute. */
  readonly disputedHash: string | null;
}

export interface OutdatedContent extends StoredContent {
  /** The version of the newest state of the record. */
  readonly version: number;
  /** Whether the record is a deleted entry of the status history, whatever its age. */
  readonly isDeletedEntry: boolean;
}

/** Called with the position up to which the log has been searched. */
type OnSearched = (position: number) => void;

/** The contents in the log that have not been redacted. Each round of a search is small enough for the memory. */
export interface StoredContents {
  /** The nodes whose files still have redacted contents until an operator scavenges them. */
  readonly nodes: readonly string[];

  /**
   * Yields the events before a position that may be about the assets with these hashes, and the resolutions of disputes
   * about these assets.
   */
  about(hashes: readonly string[], end: number, onSearched: OnSearched): AsyncIterable<readonly DisputedContent[]>;

  /**
   * Yields the events before a position with contents of threats and takedowns whose newest version is lower than
   * `version`, and of entries of the status history that are not in force and either have such a version or are deleted.
   * Leaves out parked events.
   */
  outdated(version: number, end: number, onSearched: OnSearched): AsyncIterable<readonly OutdatedContent[]>;

  /**
   * Redacts the contents of events.
   * @param onRewritten receives the number of rewritten events
   */
  rewrite(
    events: readonly Pick<StoredContent, 'position' | 'eventId' | 'stream'>[],
    onRewritten: (events: number) => void,
  ): Promise<void>;
}

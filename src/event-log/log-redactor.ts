import type { RecordedEvent } from './event-log.js';

/** Rewrites contents of events in a store that can neither change nor delete single events. */
export interface LogRedactor {
  /** The nodes whose files still have the contents until an operator scavenges them. */
  readonly nodes: readonly string[];

  /** Yields pages of what the store has, including events before the truncation of their streams. */
  pages(): AsyncIterable<readonly RecordedEvent[]>;

  /** Returns those of these events that are not before the truncation of their streams. */
  present(events: readonly RecordedEvent[]): Promise<readonly RecordedEvent[]>;

  /**
   * Replaces streams, so that they have the same events with other contents. A repeated call has the same result.
   * @param clean returns the new events of a stream, in the same order
   */
  rewrite(
    streams: ReadonlySet<string>,
    clean: (events: readonly RecordedEvent[]) => readonly RecordedEvent[],
  ): Promise<void>;
}

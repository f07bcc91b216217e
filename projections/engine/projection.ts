import type { DomainEvent, EventType } from '../../src/events/event.js';
import type { Tables } from '../../src/read-models/tables.js';
import type { ProjectorTransaction } from './transaction.js';

/** An event that was read well: what it says, and what the log says of it. */
export interface ProjectedEvent<Event extends DomainEvent = DomainEvent> {
  readonly event: Event;
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly metadata: unknown;
}

/**
 * Writes what a batch means, once.
 * Table names stand without a schema: the transaction's search_path names the live or the rebuilt one.
 */
export type Write = (transaction: ProjectorTransaction) => Promise<void>;

/** Code that turns events into rows. The engine owns the transaction, so none can forget the checkpoint. */
export interface Projection<Types extends EventType = EventType> {
  /** Names its checkpoint, its parked events and what `projections rebuild` is told. */
  readonly name: string;
  /** What it writes, and a rebuild fills anew. */
  readonly tables: readonly (keyof Tables)[];
  /** The events it is handed. */
  readonly types: readonly Types[];
  /**
   * Works out what a batch of events means, as far as that can be said before the batch before it is written. What it
   * gives must end in the same rows whatever the order of the events, however often one comes and however the log was
   * cut into batches.
   */
  prepare(events: readonly ProjectedEvent[]): Promise<Write>;
}

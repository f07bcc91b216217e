import type { DomainEvent } from '../../src/events/event.js';
import type { Tables } from '../../src/read-models/tables.js';
import type { ProjectorTransaction } from './transaction.js';

/** A decoded event with its place in the log. */
export interface ProjectedEvent<Event extends DomainEvent = DomainEvent> {
  readonly event: Event;
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly metadata: unknown;
}

/**
 * Writes a prepared batch, once. Table names have no schema: the search_path selects the live tables or those of a
 * rebuild.
 */
export type Write = (transaction: ProjectorTransaction) => Promise<void>;

/** Code that turns events into rows. The engine owns the transaction, so none can forget the checkpoint. */
export interface Projection<Event extends DomainEvent = DomainEvent> {
  /** The name of its checkpoint and parked events, and the argument of `projections rebuild`. */
  readonly name: string;
  /** The tables it writes, which a rebuild fills again. */
  readonly tables: readonly (keyof Tables)[];
  /** The event types it receives. */
  readonly types: readonly Event['type'][];
  /**
   * Writes what a batch means. It must end in the same rows whatever the order of the events, however often one comes
   * and however the log was cut into batches.
   */
  write(events: readonly ProjectedEvent<Event>[], transaction: ProjectorTransaction): Promise<void>;
  /** For a projection with much to work out: does so while the batch before is still being written. */
  prepare?(events: readonly ProjectedEvent<Event>[]): Promise<Write>;
}

export const prepare = async (projection: Projection, events: readonly ProjectedEvent[]): Promise<Write> =>
  projection.prepare ? projection.prepare(events) : (transaction) => projection.write(events, transaction);

import type { DomainEvent } from '../../src/events/event.js';
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
export interface Projection<Event extends DomainEvent = DomainEvent> {
  /** Names its checkpoint and its parked events, and is what `projections rebuild` takes. */
  readonly name: string;
  /** What it writes, and a rebuild fills again. */
  readonly tables: readonly (keyof Tables)[];
  /** The events it is given. */
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

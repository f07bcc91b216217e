import type { Transaction } from 'kysely';
import type { PoolClient } from 'pg';
import type { DomainEvent, EventType } from '../src/events/event.js';
import type { Tables } from '../src/read-models/tables.js';

/** An event that was read well: what it says, and what the log says of it. */
export interface ProjectedEvent<Event extends DomainEvent = DomainEvent> {
  readonly event: Event;
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly metadata: unknown;
}

/** Code that turns events into rows. The engine owns the transaction, so none can forget the checkpoint. */
export interface Projection<Types extends EventType = EventType> {
  /** Names its checkpoint, its parked events and what `projections rebuild` is told. */
  readonly name: string;
  /** What it writes, and a rebuild fills anew. */
  readonly tables: readonly (keyof Tables)[];
  /** The events it is handed. */
  readonly types: readonly Types[];
  /**
   * Writes what a batch of events means. Must end in the same rows whatever the order of the events, however often
   * one comes and however the log was cut into batches.
   * Table names stand without a schema: the transaction's search_path names the live or the rebuilt one.
   * @param connection the transaction's own, for statements that are worth a name
   */
  apply(tx: Transaction<Tables>, events: readonly ProjectedEvent[], connection: PoolClient): Promise<void>;
}

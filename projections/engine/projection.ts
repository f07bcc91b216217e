import type { DomainEvent } from '../../src/events/event.js';
import { isLater } from '../../src/events/record.js';
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
  /** When the log took it, by its clock. ms */
  readonly recordedAt: number;
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
  /**
   * Raised when the same events give other rows; rows of an earlier version are rebuilt at the next start. 1 unless
   * given.
   */
  readonly version?: number;
  /** The event types it receives. */
  readonly types: readonly Event['type'][];
  /**
   * Works out what a batch means, while the batch before is still being written. It must end in the same rows whatever
   * the order of the events, however often one comes and however the log was cut into batches.
   */
  prepare(events: readonly ProjectedEvent<Event>[]): Promise<Write>;
}

export const versionOf = ({ version = 1 }: Projection): number => version;

/**
 * Keeps the later of the state that is known under a key and this one; arrival order plays no part.
 * @returns whether it is this one
 */
export const lastWriterWins = <State extends { readonly version: number; readonly eventId: string }>(
  states: Map<string, State>,
  key: string,
  state: State,
): boolean => {
  const known = states.get(key);
  if (known && !isLater(state, known)) return false;
  states.set(key, state);
  return true;
};

import type { Pool, PoolClient } from 'pg';
import { inTransaction } from '../../src/postgres/transaction.js';
import type { DomainEvent } from '../../src/events/event.js';
import { isLater } from '../../src/events/record.js';
import type { Tables } from '../../src/read-models/tables.js';
import { limit } from '../../src/limits.js';

/**
 * An open transaction that writes the rows of one batch. The projector also moves its checkpoints in this transaction;
 * a rebuild does not.
 */
export interface ProjectorTransaction {
  readonly connection: PoolClient;
}

/**
 * Settings that force plans that access rows by key, because the planner's statistics may date from when the tables
 * were empty. Each statement is planned for the current batch, without scans of whole tables.
 */
const SETTINGS = [
  'synchronous_commit = off',
  'plan_cache_mode = force_custom_plan',
  'enable_seqscan = off',
  'enable_hashjoin = off',
  'enable_mergejoin = off',
  'enable_material = off',
  // Disabled plan nodes have very high costs, which would trigger JIT compilation.
  'jit = off',
].map((setting) => `set local ${setting}`);

/** Default statement timeout. Statements usually take milliseconds, because the size of a batch is limited. */
export const STATEMENT_TIMEOUT_MS = limit('statement of the projector', 15_000, 'ms', 'process', 'the batch is split');

/** Timeouts of a transaction. */
interface Timeouts {
  /** Statement timeout. */
  readonly statementMs?: number;
  /** Maximum time between two statements. Default: the setting of the connection. */
  readonly idleMs?: number;
}

/**
 * Runs `work` in one transaction with `schema` as its search path. The commit does not wait for the disk. A crash can
 * only lose rows together with their checkpoint, and the events are still in the log.
 */
export const transact = <Result>(
  pool: Pool,
  schema: string,
  work: (transaction: ProjectorTransaction) => Promise<Result>,
  { statementMs = STATEMENT_TIMEOUT_MS, idleMs }: Timeouts = {},
): Promise<Result> => {
  const timeouts = [
    `set local statement_timeout = ${statementMs}`,
    ...(idleMs === undefined ? [] : [`set local idle_in_transaction_session_timeout = ${idleMs}`]),
  ];
  const begin = ['begin', ...timeouts, `set local search_path = "${schema}"`, ...SETTINGS].join('; ');
  return inTransaction(pool, (connection) => work({ connection }), begin);
};

/** A decoded event with its position in the log. */
export interface ProjectedEvent<Event extends DomainEvent = DomainEvent> {
  readonly event: Event;
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  /** True for a copy that a rewriting of the stream appended. Position and time are those of the original. */
  readonly isCopy?: boolean;
  readonly metadata: unknown;
  /** When the log stored the event, in ms, by the clock of the log. */
  readonly recordedAt: number;
}

/** Where and when the log stored an event. */
export type Recorded = Pick<ProjectedEvent, 'position' | 'recordedAt'>;

/**
 * Writes a prepared batch. The engine calls this function at most once. Statements must name tables without a schema,
 * because the search_path selects the live tables or the shadow tables.
 */
export type Write = (transaction: ProjectorTransaction) => Promise<void>;

/** Turns events into rows. The engine begins and commits the transaction, and moves the checkpoint in it. */
export interface Projection<Event extends DomainEvent = DomainEvent> {
  /** The name identifies the checkpoint and the parked events, and is the argument of `projections rebuild`. */
  readonly name: string;
  /** The tables that the projection writes and a rebuild replaces. */
  readonly tables: readonly (keyof Tables)[];
  /**
   * The tables, among `tables`, whose indexes other than unique ones serve only readers. A rebuild creates these indexes
   * when the tables are filled. Default: none, because a statement of the projection that misses its index would scan
   * the table for every batch.
   */
  readonly indexedForReaders?: readonly (keyof Tables)[];
  /**
   * The versions of what determines the rows, the most significant first. A version must be incremented when the same
   * events result in different rows. Rows of an earlier version are rebuilt at the next start. Default: 1.
   */
  readonly versions?: readonly number[];
  /**
   * The table, among `tables`, that says when the log stored its events. A projection with such a table is told of every
   * event, of whatever type. Absent: the projection does not need to know.
   */
  readonly clock?: keyof Tables;
  /** The event types that the projection receives. */
  readonly types: readonly Event['type'][];
  /**
   * Prepares a batch while the previous batch is being written. The resulting rows must not depend on the order of
   * events, on repeated events, or on how the log is split into batches.
   * @param recorded where and when the log stored the events of the batch, including those of other types. Empty if the
   *   projection has no `clock`
   */
  prepare(events: readonly ProjectedEvent<Event>[], recorded: readonly Recorded[]): Promise<Write>;
}

/** More than each version of a projection will ever be. */
const VERSIONS = 1_000;

/** The versions of a projection as one number, which the checkpoint stores. */
export const versionOf = ({ versions = [1] }: Pick<Projection, 'versions'>): number =>
  versions.reduce((stored, version) => stored * VERSIONS + version, 0);

/**
 * Stores a state under a key, unless the map has a newer state. The order of calls does not matter.
 * @returns whether the state was stored
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

import type { PoolClient } from 'pg';
import { toJson } from '../../src/events/event.js';
import { columnsOf } from '../../src/postgres/columns.js';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { prepare, type ProjectedEvent, type Projection, type Write } from './projection.js';
import { PARK } from './statements.js';
import type { ProjectorTransaction } from './transaction.js';

/** An event that a projection could not apply, with why. */
export interface Refused {
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly reason: string;
}

/** Keeps refused events for an operator. An event that comes again stays parked as it was. */
export const park = async (connection: PoolClient, projection: string, refused: readonly Refused[]): Promise<void> => {
  if (refused.length === 0) return;
  const rows = refused.map((event) => ({
    ...event,
    data: JSON.stringify(event.data) ?? 'null',
    metadata: JSON.stringify(event.metadata) ?? 'null',
  }));
  const columns = columnsOf(rows, 'id', 'position', 'stream', 'revision', 'type', 'data', 'metadata', 'reason');
  await connection.query({ ...PARK, values: [projection, ...columns, Date.now()] });
};

/** Lets parked events go: they were applied, or an operator dropped them, which the log says to a rebuild too. */
export const unpark = async (
  { tx }: ProjectorTransaction,
  projection: string,
  eventIds: readonly string[],
): Promise<void> => {
  if (eventIds.length === 0) return;
  await tx.deleteFrom('parked_events').where('projection', '=', projection).where('event_id', 'in', eventIds).execute();
};

export const refuse = (event: ProjectedEvent, reason: string): Refused => {
  const { type } = event.event;
  return { ...event, type, data: toJson(event.event), reason };
};

/**
 * Makes sure that a projection's tables can be written, and keeps it so until the transaction ends: it takes the locks
 * that writing them takes. What fails after this is no fault of theirs.
 * @throws what the database says where they cannot be written
 */
export const probe = async ({ connection }: ProjectorTransaction, { tables }: Projection): Promise<void> => {
  for (const table of tables) await connection.query(`delete from "${table}" where false`);
};

/**
 * SQLSTATE classes that blame the data of a statement: cardinality, data, integrity, limits. An error without a
 * SQLSTATE was thrown by the projection itself over what it read. Everything else (no such table, no such function,
 * out of memory) would fail for any event, so parking would only empty the log into the car park.
 */
const DATA_ERROR = /^(21|22|23|44|54|P0)/;

export const blamesData = (error: unknown): error is Error => {
  if (!(error instanceof Error) || isTransient(error)) return false;
  const { code } = error as { code?: string };
  return code === undefined || DATA_ERROR.test(code);
};

/**
 * Applies events one half at a time until those that cannot be applied stand alone.
 * @param prepared all of them, where they are prepared already
 * @returns the refused ones; everything else has been applied
 * @throws what is not the events' fault
 */
export const applyByHalves = async (
  transaction: ProjectorTransaction,
  projection: Projection,
  events: readonly ProjectedEvent[],
  prepared?: Promise<Write>,
): Promise<Refused[]> => {
  const { connection } = transaction;
  await connection.query('savepoint half');
  try {
    const write = await (prepared ?? prepare(projection, events));
    await write(transaction);
    await connection.query('release savepoint half');
    return [];
  } catch (error) {
    if (!blamesData(error)) throw error;
    await connection.query('rollback to savepoint half; release savepoint half');
    const [event] = events;
    if (events.length === 1 && event) return [refuse(event, error.message)];
    const middle = events.length >> 1;
    return [
      ...(await applyByHalves(transaction, projection, events.slice(0, middle))),
      ...(await applyByHalves(transaction, projection, events.slice(middle))),
    ];
  }
};

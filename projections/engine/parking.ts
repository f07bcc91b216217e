import type { PoolClient } from 'pg';
import { ID, isSlug, SLUG } from '../../src/events/declaring/fields.js';
import { toJson } from '../../src/events/event.js';
import { ENTRY_TYPES } from '../../src/events/record.js';
import { nameArray } from '../../src/postgres/columns.js';
import { isTransient } from '../../src/postgres/transient-errors.js';
import type { ProjectedEvent, Projection, Write } from './projection.js';
import { readModelsOver } from '../../src/read-models/kysely.js';
import { PARK } from './statements.js';
import { NotApplied, type Suspicion } from './suspicion.js';
import type { ProjectorTransaction } from './transaction.js';

/** An event that a projection could not apply, and why. */
export interface Refused {
  readonly id: string;
  readonly position: bigint;
  readonly stream: string;
  readonly revision: bigint;
  readonly type: string;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly recordedAt: number;
  readonly reason: string;
  /** Whether the event itself is at fault, so that the reason is for its sender too. */
  readonly unreadable: boolean;
}

/** A string property; undefined unless it is like that. */
const textIn = (json: unknown, name: string, pattern: RegExp): string | undefined => {
  const value = (json as Record<string, unknown> | null | undefined)?.[name];
  return typeof value === 'string' && pattern.test(value) ? value : undefined;
};

/** The organizations that the reviews of an entry's event name, each once. */
const reviewersIn = (data: unknown): string[] => {
  const reviews = (data as { brandReviews?: unknown } | null | undefined)?.brandReviews;
  if (!Array.isArray(reviews)) return [];
  const named = reviews.map((review) => (review as { organization?: unknown } | null | undefined)?.organization);
  return [...new Set(named.filter(isSlug))];
};

/** Whose parked event it is. An entry of the asset status history belongs to every organization that it names. */
const ownersOf = ({ type, data }: Refused) =>
  (ENTRY_TYPES as readonly string[]).includes(type)
    ? { changeId: textIn(data, 'changeId', ID), organizations: nameArray(reviewersIn(data)) }
    : { changeId: undefined, organizations: undefined };

/** Parks events for an operator. An event that comes again stays parked as it was. */
const park = async (connection: PoolClient, projection: string, refused: readonly Refused[]): Promise<void> => {
  const rows = refused.map((event) => ({
    ...event,
    data: JSON.stringify(event.data) ?? 'null',
    metadata: JSON.stringify(event.metadata) ?? 'null',
    organization: textIn(event.data, 'organization', SLUG),
    keyId: textIn(event.metadata, 'keyId', ID),
    ...ownersOf(event),
  }));
  await PARK.runEach(connection, rows, { projection });
};

/** Removes parked events: they were applied, or an operator dropped them (which is in the log, for rebuilds). */
export const unpark = async (
  { connection }: ProjectorTransaction,
  projection: string,
  eventIds: readonly string[],
): Promise<void> => {
  if (eventIds.length === 0) return;
  await readModelsOver(connection)
    .deleteFrom('parked_events')
    .where('projection', '=', projection)
    .where('event_id', 'in', eventIds)
    .execute();
};

const refuse = (event: ProjectedEvent, reason: string): Refused => {
  const { type } = event.event;
  return { ...event, type, data: toJson(event.event), reason, unreadable: false };
};

/**
 * Checks that a projection's tables can be written, and takes the locks for it until the transaction ends. Failures
 * after this are not the tables' fault.
 * @throws the database's error if they cannot be written
 */
const probe = async ({ connection }: ProjectorTransaction, { tables }: Projection): Promise<void> => {
  for (const table of tables) await connection.query(`delete from "${table}" where false`);
};

/**
 * SQLSTATE classes caused by a statement's data: cardinality, data, integrity, limits. An error without a SQLSTATE was
 * thrown by the projection itself over an event. Anything else (no such table or function, out of memory) would fail
 * for any event, so parking would park the whole log.
 */
const DATA_ERROR = /^(21|22|23|44|54|P0)/;

export const blamesData = (error: unknown): error is Error => {
  if (!(error instanceof Error) || isTransient(error)) return false;
  const { code } = error as { code?: string };
  return code === undefined || DATA_ERROR.test(code);
};

/** What of a batch one projection receives. */
export interface Share {
  readonly projection: Projection;
  readonly events: readonly ProjectedEvent[];
  readonly unreadable: readonly Refused[];
  /** Ids of parked events that an operator has dropped. */
  readonly dropped: readonly string[];
}

/**
 * Applies a share, and parks what of it cannot be applied.
 * @param apply applies its events
 * @returns what was parked
 * @throws NotApplied
 */
export const applyShare = async (
  transaction: ProjectorTransaction,
  { projection, events, unreadable, dropped }: Share,
  suspicion: Suspicion,
  apply: () => Promise<readonly Refused[]>,
): Promise<Refused[]> => {
  const refused = [...unreadable];
  const charge = suspicion.against(projection.name, events);
  if (charge) await probe(transaction, projection);
  if (charge?.reason !== undefined) refused.push(refuse(events[0]!, charge.reason));
  else if (events.length > 0)
    refused.push(
      ...(await apply().catch((error: unknown) => {
        throw new NotApplied(projection.name, events, error);
      })),
    );
  await park(transaction.connection, projection.name, refused);
  await unpark(transaction, projection.name, dropped);
  return refused;
};

/**
 * Applies events by halves until the ones that cannot be applied are isolated.
 * @param prepared all of them, if already prepared
 * @returns the parked ones; all others have been applied
 * @throws errors that are not the events' fault
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
    const write = await (prepared ?? projection.prepare(events));
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

import type { Pool } from 'pg';
import { BEGINNING, type EventLog } from '../src/event-log/event-log.js';
import { applyByHalves, park, unpark } from './parking.js';
import type { Projection } from './projection.js';
import { deal } from './projector.js';
import { transact } from './transaction.js';

const PAGE = 2_000;

/** Makes a schema with empty tables of a projection, as the live ones are now; whatever a killed run left goes. */
export const createSchemaBeside = async (pool: Pool, schema: string, projection: Projection): Promise<void> => {
  await pool.query(`drop schema if exists "${schema}" cascade; create schema "${schema}"`);
  for (const table of [...projection.tables, 'parked_events'])
    await pool.query(`create table "${schema}"."${table}" (like read."${table}" including all)`);
};

/** A projection, and the schema of the tables it fills. */
export interface Target {
  readonly projection: Projection;
  readonly schema: string;
}

/**
 * Applies the log, read once, to the tables of projections in other schemas.
 * @param after the position reached before
 * @param upTo the last position to apply; undefined: the end as it is found
 * @returns the position reached
 */
export const replayInto = async (
  { pool, log }: { readonly pool: Pool; readonly log: EventLog },
  targets: readonly Target[],
  {
    after = BEGINNING,
    upTo,
    onProgress,
  }: { after?: bigint; upTo?: bigint; onProgress?: (position: bigint) => void } = {},
): Promise<bigint> => {
  let position = after;
  while (upTo === undefined || position < upTo) {
    const page = await log.readAll(position, PAGE);
    const events = upTo === undefined ? page : page.filter((event) => event.position <= upTo);
    const last = events.at(-1);
    if (last) {
      const projections = targets.map(({ projection }) => projection);
      const checkpoints = projections.map(({ name }) => ({ projection: name, position }));
      const shares = await deal(projections, checkpoints, { events, position: last.position });
      for (const [index, { projection, events: own, prepared, unreadable, dropped }] of shares.entries()) {
        if (own.length + unreadable.length + dropped.length === 0) continue;
        await transact(pool, targets[index]!.schema, async (transaction) => {
          const refused = await applyByHalves(transaction, projection, own, prepared);
          await park(transaction.connection, projection.name, [...refused, ...unreadable]);
          await unpark(transaction.connection, projection.name, dropped);
        });
      }
      position = last.position;
      onProgress?.(position);
    }
    if (page.length < PAGE || events.length < page.length) break;
  }
  return position;
};

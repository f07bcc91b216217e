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

/**
 * Applies the log to a projection's tables in another schema.
 * @param after the position reached before
 * @param upTo the last position to apply; undefined: the end as it is found
 * @returns the position reached
 */
export const replayInto = async (
  { pool, log }: { readonly pool: Pool; readonly log: EventLog },
  schema: string,
  projection: Projection,
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
      const checkpoint = { projection: projection.name, position };
      const [dealt] = await deal([projection], [checkpoint], { events, position: last.position });
      await transact(pool, schema, async (transaction) => {
        const refused = await applyByHalves(transaction, projection, dealt!.events, dealt!.prepared);
        await park(transaction.connection, projection.name, [...refused, ...dealt!.unreadable]);
        await unpark(transaction.connection, projection.name, dealt!.dropped);
      });
      position = last.position;
      onProgress?.(position);
    }
    if (page.length < PAGE || events.length < page.length) break;
  }
  return position;
};

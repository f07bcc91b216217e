import type { Selectable } from 'kysely';
import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { newEvent } from '../../src/event-log/new-event.js';
import { OPERATIONS_STREAM } from '../../src/events/streams.js';
import { createReadModels, readModelsOver } from '../../src/read-models/kysely.js';
import type { Tables } from '../../src/read-models/tables.js';
import { applyByHalves, unpark } from './parking.js';
import type { Projection } from './projection.js';
import { decodeEvent } from './decode-event.js';
import { transact } from './transaction.js';

/** `parked_at` in ms. */
export type Parked = Readonly<Selectable<Tables['parked_events']>>;

/** @param eventId undefined: all */
export const listParked = (pool: Pool, eventId?: string): Promise<Parked[]> => {
  const parked = createReadModels(pool).selectFrom('parked_events').selectAll();
  // Compared as text: an operator's input may not be a UUID, and is then not found.
  const asked =
    eventId === undefined ? parked : parked.where((eb) => eb(eb.cast<string>('event_id', 'text'), '=', eventId));
  return asked.orderBy('position').orderBy('projection').execute();
};

/** A manual retry may take longer than a batch; the live projector waits for it too. */
const RETRY_LIMIT_MS = 120_000;

/**
 * Retries a parked event. Projections do not depend on the order, so it is never too late.
 * @returns why it stays parked; undefined if it was applied
 */
export const retryParked = (pool: Pool, projection: Projection, parked: Parked): Promise<string | undefined> =>
  transact(
    pool,
    'read',
    async (transaction) => {
      const live = readModelsOver(transaction.connection);
      // The live projector waits, as for another instance of itself.
      await live.selectFrom('checkpoints').where('projection', '=', projection.name).forUpdate().execute();
      const result = decodeEvent({
        ...parked,
        id: parked.event_id,
        position: BigInt(parked.position),
        revision: BigInt(parked.revision),
        recordedAt: parked.recorded_at ?? parked.parked_at,
      });
      let reason: string | undefined;
      if (result.kind === 'read') {
        const [refused] = await applyByHalves(transaction, projection, [result.projected]);
        reason = refused?.reason;
      } else {
        reason = result.kind === 'unknown' ? `the type ${parked.type} is unknown` : result.reason;
      }
      if (reason === undefined) await unpark(transaction, projection.name, [parked.event_id]);
      else
        await live
          .updateTable('parked_events')
          .set(({ eb }) => ({ attempts: eb('attempts', '+', 1), reason, unreadable: result.kind !== 'read' }))
          .where('projection', '=', projection.name)
          .where('event_id', '=', parked.event_id)
          .execute();
      return reason;
    },
    { statementMs: RETRY_LIMIT_MS },
  );

/**
 * Records in the log that parked events are not to be applied; the projector then removes them, and so does a rebuild.
 */
export const dropParked = async (log: EventLog, parked: readonly Parked[], reason: string): Promise<void> => {
  const createdAt = Date.now();
  const events = parked.map(({ projection, event_id: eventId }) =>
    newEvent({ type: 'ParkedEventDropped', data: { projection, eventId, reason, createdAt } }),
  );
  if (events.length > 0) await log.append(OPERATIONS_STREAM, 'any', events);
};

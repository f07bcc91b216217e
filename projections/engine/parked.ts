import { randomUUID } from 'node:crypto';
import type { Pool } from 'pg';
import type { EventLog } from '../../src/event-log/event-log.js';
import { toJson } from '../../src/events/event.js';
import { OPERATIONS_STREAM } from '../../src/events/streams.js';
import { applyByHalves } from './parking.js';
import type { Projection } from './projection.js';
import { decodeEvent } from './decode-event.js';
import { transact } from './transaction.js';

export interface Parked {
  readonly projection: string;
  readonly event_id: string;
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly reason: string;
  readonly attempts: number;
  /** ms */
  readonly parked_at: number;
}

/** @param eventId undefined: all */
export const listParked = async (pool: Pool, eventId?: string): Promise<Parked[]> =>
  (
    await pool.query<Parked>(
      `select projection, event_id, position, stream, revision, type, data, metadata, reason, attempts, parked_at
       from read.parked_events where $1::text is null or event_id::text = $1 order by position, projection`,
      [eventId ?? null],
    )
  ).rows;

/** An operator who tries an event again may wait longer for it than a projector, and the live one waits as well. */
const RETRY_LIMIT_MS = 120_000;

/**
 * Tries a parked event again. A projection comes to the same rows whatever the order, so late is not too late.
 * @returns why it stays parked; undefined where it has been applied
 */
export const retryParked = (pool: Pool, projection: Projection, parked: Parked): Promise<string | undefined> =>
  transact(
    pool,
    'read',
    async (transaction) => {
      const { connection } = transaction;
      // The live projector waits meanwhile, as it would for another instance of itself.
      await connection.query('select from checkpoints where projection = $1 for update', [projection.name]);
      const key = [projection.name, parked.event_id];
      const result = decodeEvent({
        ...parked,
        id: parked.event_id,
        position: BigInt(parked.position),
        revision: BigInt(parked.revision),
        recordedAt: parked.parked_at,
      });
      let reason: string | undefined;
      if (result.kind === 'read') {
        const [refused] = await applyByHalves(transaction, projection, [result.projected]);
        reason = refused?.reason;
      } else {
        reason = result.kind === 'unknown' ? `the type ${parked.type} is not known` : result.reason;
      }
      await connection.query(
        reason === undefined
          ? 'delete from parked_events where projection = $1 and event_id = $2'
          : 'update parked_events set attempts = attempts + 1, reason = $3 where projection = $1 and event_id = $2',
        reason === undefined ? key : [...key, reason],
      );
      return reason;
    },
    RETRY_LIMIT_MS,
  );

/** Says in the log that parked events are not to be applied; the projector then lets them go, a rebuild too. */
export const dropParked = async (log: EventLog, parked: readonly Parked[], reason: string): Promise<void> => {
  const createdAt = Date.now();
  const events = parked.map(({ projection, event_id }) => ({
    id: randomUUID(),
    type: 'ParkedEventDropped',
    data: toJson({ type: 'ParkedEventDropped', data: { projection, eventId: event_id, reason, createdAt } }),
    metadata: {},
  }));
  if (events.length > 0) await log.append(OPERATIONS_STREAM, 'any', events);
};

import type { PoolClient } from 'pg';
import { parseInstant } from '../../events/instant.js';
import { FIND_EXPIRED } from '../../event-log/postgres/redaction-sql.js';
import { forEachBatch } from '../../event-log/postgres/batches.js';
import { databaseTime } from '../../postgres/clock.js';
import { awaitProjections } from '../erasing/await-projections.js';
import type { RowOf } from '../../postgres/statement.js';
import type { Session } from '../runtime/session.js';
import { countByType, type FoundEvent, hashOfStored, recordOfAsset, redactEvents } from './redact-events.js';

export interface Retention {
  /** The instant before which contents expire, in ms. */
  readonly cutoff: number;
  /** Number of events by type. */
  readonly events: Readonly<Record<string, number>>;
}

export interface RetentionOptions {
  /** True if the expired events are only counted. */
  readonly dryRun?: boolean;
  readonly onProgress?: (positions: number, fraction: number) => void;
}

interface ExpiredEvent extends FoundEvent {
  /** The version of the newest state of the record. */
  readonly version: number;
}

/** Positions that are searched before the events found in them are redacted. Bounds the memory of the call. */
const POSITIONS_PER_ROUND = 20_000;

/** A deleted entry has no instant in the tables, so the instant of the event decides. */
const isExpired = ({ isDeletedEntry, data }: RowOf<typeof FIND_EXPIRED>, cutoff: number): boolean => {
  const at = parseInstant(String(data['createdAt'] ?? data['deletedAt']));
  return !isDeletedEntry || (at !== undefined && at < cutoff);
};

const findExpired = async (connection: PoolClient, from: number, to: number, cutoff: number) => {
  const expired: ExpiredEvent[] = [];
  for (const event of await FIND_EXPIRED.run(connection, { from, to, version: 2 * cutoff })) {
    const hash = hashOfStored(event);
    if (hash === undefined || !isExpired(event, cutoff)) continue;
    const { position, eventId, stream, type, data, version } = event;
    expired.push({ position, eventId, stream, type, version, record: recordOfAsset(type, data, hash) });
  }
  return expired;
};

/**
 * Redacts the contents of threats and takedowns whose newest state is older than an age, by the database's clock, and of
 * entries of the status history that are older and no longer in force. Skips parked events. Searches the log up to its
 * head at the start of the call. A call that was killed is continued by the next call.
 * @param ageMs the age
 * @param operator who applies the retention, for the metadata of the events
 */
export const applyRetention = async (
  session: Session,
  ageMs: number,
  operator: string,
  { dryRun = false, onProgress = () => {} }: RetentionOptions = {},
): Promise<Retention> => {
  const { pool, log } = session;
  const cutoff = (await databaseTime(pool)) - ageMs;
  const end = Number(await log.head()) + 1;
  // A newer state that is stored but not applied yet keeps the content of its record.
  if (!dryRun) await awaitProjections(session, end - 1);
  const events: Record<string, number> = {};
  for (let from = 0; from < end; from += POSITIONS_PER_ROUND) {
    const expired: ExpiredEvent[] = [];
    const find = async (connection: PoolClient, first: number, next: number): Promise<void> => {
      expired.push(...(await findExpired(connection, first, next, cutoff)));
    };
    const to = Math.min(from + POSITIONS_PER_ROUND, end);
    await forEachBatch(pool, { from, to }, find, (position) => onProgress(position, position / end));
    for (const [type, count] of Object.entries(countByType(expired))) events[type] = (events[type] ?? 0) + count;
    if (!dryRun && expired.length > 0) await redactEvents(session, expired, operator, ({ version }) => version);
  }
  return { cutoff, events };
};

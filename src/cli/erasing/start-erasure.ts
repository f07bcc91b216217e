import type { Pool } from 'pg';
import type { EventLog, NewEvent } from '../../event-log/event-log.js';
import { findEvents } from '../../event-log/find-events.js';
import { newEvent } from '../../event-log/new-event.js';
import { APPEND_LOCK, REFUSE_ERASED } from '../../event-log/postgres/erasure-sql.js';
import { APPEND } from '../../event-log/postgres/statements.js';
import { erasureDigest } from '../../events/erasure.js';
import { eventIdOf, OWN_SOURCE } from '../../events/event-id.js';
import type { DomainEvent } from '../../events/event.js';
import { OPERATIONS_STREAM } from '../../events/streams.js';
import { databaseTime } from '../../postgres/clock.js';
import { LOCK_UNTIL_COMMIT } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { ENTER_ERASURE, ENTER_NAMES } from '../../read-models/erasures/statements.js';
import type { Session } from '../runtime/session.js';
import { namesOf } from './find-organization.js';
import type { Subject } from './subject.js';

/** Makes an event with an id that a repeated call gives it again, so that the log stores it once. */
export const eventOnce = (event: DomainEvent, digest: string, operator: string): NewEvent => ({
  ...newEvent(event, { operator }),
  id: eventIdOf(OWN_SOURCE, digest, event.type, OPERATIONS_STREAM),
});

/** Appends an event to the stream of operations, unless an earlier call has appended it. */
export const appendOnce = async (log: EventLog, event: NewEvent): Promise<{ readonly position: bigint }> =>
  (await findEvents(log, OPERATIONS_STREAM, new Set([event.id]))).get(event.id) ??
  (await log.append(OPERATIONS_STREAM, 'any', [event]));

/**
 * Starts the erasure in one transaction, under the lock of the log: no event of the organization is stored after
 * `OrganizationErasureStarted`. A repeated call changes nothing.
 */
export const startErasure = async ({ pool, log }: Session, subject: Subject, operator: string): Promise<void> => {
  const { organization, logId, digest } = subject;
  const startedAt = await databaseTime(pool);
  const event = eventOnce({ type: 'OrganizationErasureStarted', data: { digest, logId, startedAt } }, digest, operator);
  if (log.eraser !== undefined) return startInStore(pool, log, subject, event, startedAt);
  await inTransaction(pool, async (connection) => {
    await LOCK_UNTIL_COMMIT.run(connection, { key: APPEND_LOCK });
    const names = await namesOf(log, connection, organization);
    const digests = [digest, ...names.map((name) => erasureDigest(logId, name))];
    await REFUSE_ERASED.run(connection, { digests, logId });
    await ENTER_NAMES.run(connection, { digests, logId });
    const [appended] = await APPEND.run(connection, {
      requests: [0],
      streams: [OPERATIONS_STREAM],
      expected: [null],
      ids: [event.id],
      types: [event.type],
      data: [JSON.stringify(event.data)],
      metadata: [JSON.stringify(event.metadata)],
    });
    await ENTER_ERASURE.run(connection, { digest, startedAt, position: appended!.position! });
  });
};

/**
 * Starts the erasure in a store without transactions. The names are entered before the event is appended, because the
 * log does not show them afterwards.
 */
const startInStore = async (
  pool: Pool,
  log: EventLog,
  { organization, logId, digest }: Subject,
  event: NewEvent,
  startedAt: number,
): Promise<void> => {
  const digests = [digest, ...(await namesOf(log, pool, organization)).map((name) => erasureDigest(logId, name))];
  await ENTER_NAMES.run(pool, { digests, logId });
  const { position } = await appendOnce(log, event);
  await ENTER_ERASURE.run(pool, { digest, startedAt, position: Number(position) });
};

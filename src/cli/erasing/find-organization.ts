import type { Pool, PoolClient } from 'pg';
import type { EventLog, OrganizationToErase, NewEvent } from '../../event-log/event-log.js';
import { erasureDigest } from '../../events/redacted.js';
import {
  READ_CERTIFICATE,
  COUNT_EVENTS,
  NAMES_OF_ORGANIZATION,
  forEachBatch,
  APPEND_LOCK,
  REFUSE_ERASED,
} from '../../event-log/postgres/rewriting.js';
import { followStream, START_OF_STREAM, findEvents } from '../../event-log/read-streams.js';
import { parseEvent, type DomainEvent } from '../../events/event.js';
import { OPERATIONS_STREAM, eventIdOf, OWN_SOURCE } from '../../events/streams.js';
import type { OrganizationErased } from '../../events/types/operations.js';
import type { Session } from '../session.js';
import {
  ENDPOINTS_OF_ORGANIZATION,
  READ_ERASED_NAMES,
  ROW_STEPS,
  ENTER_ERASURE,
  ENTER_NAMES,
} from '../../read-models/erasures.js';
import { type Connection, LOCK_UNTIL_COMMIT } from '../../postgres/statement.js';
import { newEvent } from '../../event-log/new-event.js';
import { APPEND } from '../../event-log/postgres/writer.js';
import { databaseTime } from '../../postgres/clock.js';
import { inTransaction } from '../../postgres/transaction.js';

/** The organization that a call erases, and what names it after the erasure. */
export interface Subject {
  readonly organization: string;
  readonly logId: string;
  /** The `erasureDigest` of the slug. */
  readonly digest: string;
}

export const subjectOf = async (log: EventLog, organization: string): Promise<Subject> => {
  const logId = await log.id();
  return { organization, logId, digest: erasureDigest(logId, organization) };
};

export type Certificate = OrganizationErased['data'];

/** The certificate of an organization that was erased completely. A copy of a log has those of the log that was copied. */
export const readCertificate = async (
  { pool, log }: Session,
  { organization, digest }: Subject,
): Promise<Certificate | undefined> => {
  if (log.eraser === undefined) {
    const [erased] = await READ_CERTIFICATE.run(pool, { digest });
    return erased && parseEvent('OrganizationErased', erased.data).event?.data;
  }
  let certificate: Certificate | undefined;
  await followStream(log, OPERATIONS_STREAM, 'Events about the log', START_OF_STREAM, ({ type, data }) => {
    const erased = type === 'OrganizationErased' ? parseEvent('OrganizationErased', data).event?.data : undefined;
    if (erased?.digest === erasureDigest(erased?.logId ?? '', organization)) certificate ??= erased;
  });
  return certificate;
};

/** By event type or by table. */
export type Counts = Readonly<Record<string, number>>;

/** What the log and the tables have of an organization. */
export interface Found {
  readonly events: Counts;
  readonly rows: Counts;
}

export interface ErasureProgress {
  readonly phase: 'events' | 'rows';
  readonly done: number;
  /** From 0 to 1; undefined if the total is unknown. */
  readonly fraction: number | undefined;
}

export const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, n) => sum + n, 0);
export const isEmpty = ({ events, rows }: Found): boolean => sumOf(events) + sumOf(rows) === 0;

/** Counts the events and the rows of an organization. Changes nothing. */
export const findOrganization = async (
  { pool, log }: Session,
  subject: Subject,
  onProgress: (progress: ErasureProgress) => void = () => {},
): Promise<Found> => {
  const { organization } = subject;
  const to = Number(await log.head()) + 1;
  const report = (done: number): void => onProgress({ phase: 'events', done, fraction: Math.min(1, done / to) });
  if (log.eraser !== undefined) {
    const target = await targetOf(pool, log, subject);
    const found = await log.eraser.find(target, (position) => report(Number(position)));
    return { events: found, rows: await countRows({ pool, log }, organization) };
  }
  const events: Record<string, number> = {};
  const count = async (connection: PoolClient, from: number, next: number): Promise<void> => {
    for (const { type, events: n } of await COUNT_EVENTS.run(connection, { organization, from, to: next }))
      events[type] = (events[type] ?? 0) + n;
  };
  await forEachBatch(pool, { from: 0, to }, count, report);
  return { events, rows: await countRows({ pool, log }, organization) };
};

/** The keys of the organization are known by their digests once the events that name them have been erased. */
export const targetOf = async (
  pool: Pool,
  log: EventLog,
  { organization, logId }: Subject,
): Promise<OrganizationToErase> => {
  const digests = new Set((await READ_ERASED_NAMES.run(pool, { logId })).map(({ digest }) => digest));
  const names = new Set(await log.eraser!.names(organization));
  return { organization, isKey: (keyId) => names.has(keyId) || digests.has(erasureDigest(logId, keyId)) };
};

/**
 * The keys and webhook endpoints of an organization, which name rows of the service. A store that was erased has no names
 * any more, but the tables have those of the endpoints if they were restored from an older backup.
 */
const namesOf = async (log: EventLog, connection: Connection, organization: string): Promise<string[]> => {
  const names = log.eraser === undefined ? NAMES_OF_ORGANIZATION : ENDPOINTS_OF_ORGANIZATION;
  const inDatabase = (await names.run(connection, { organization })).map(({ name }) => name);
  return log.eraser === undefined ? inDatabase : [...(await log.eraser.names(organization)), ...inDatabase];
};

/** Counts the rows that `eraseRows` would erase, whether the erasure has begun or not. */
export const countRows = async ({ pool, log }: Session, organization: string): Promise<Counts> => {
  const names = await namesOf(log, pool, organization);
  const rows: Record<string, number> = {};
  for (const { table, count } of ROW_STEPS) {
    const [row] = await count.run(pool, { organization, names });
    if (row!.rows > 0) rows[table] = (rows[table] ?? 0) + row!.rows;
  }
  return rows;
};

/** Makes an event with an id that a repeated call gives it again, so that the log stores it once. */
export const eventOnce = (event: DomainEvent, digest: string, operator: string): NewEvent => ({
  ...newEvent(event, { operator }),
  id: eventIdOf(OWN_SOURCE, digest, event.type, OPERATIONS_STREAM),
});

/** Returns the `OrganizationErasureStarted` of an erasure; undefined if it has not started. */
export const readStart = async (log: EventLog, digest: string): Promise<{ readonly position: bigint } | undefined> => {
  const id = eventIdOf(OWN_SOURCE, digest, 'OrganizationErasureStarted', OPERATIONS_STREAM);
  return (await findEvents(log, OPERATIONS_STREAM, new Set([id]))).get(id);
};

/** Appends an event to the stream of operations, unless an earlier call has appended it. */
export const appendOnce = async (log: EventLog, event: NewEvent): Promise<{ readonly position: bigint }> =>
  (await findEvents(log, OPERATIONS_STREAM, new Set([event.id]))).get(event.id) ??
  (await log.append(OPERATIONS_STREAM, 'any', [event]));

/** Enters the digests of the slug and the names, by which the tables know which rows to erase and to refuse. */
export const enterNames = async ({ pool, log }: Session, { organization, logId, digest }: Subject): Promise<void> => {
  const digests = [digest, ...(await namesOf(log, pool, organization)).map((name) => erasureDigest(logId, name))];
  await ENTER_NAMES.run(pool, { digests, logId });
};

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
  subject: Subject,
  event: NewEvent,
  startedAt: number,
): Promise<void> => {
  await enterNames({ pool, log }, subject);
  const { position } = await appendOnce(log, event);
  await ENTER_ERASURE.run(pool, { digest: subject.digest, startedAt, position: Number(position) });
};

import type { Pool, PoolClient } from 'pg';
import { Projector } from '../../../projections/engine/projector.js';
import { LANES, PROJECTIONS } from '../../../projections/registry.js';
import { NotFound } from '../../errors.js';
import { erasureDigest } from '../../events/erasure.js';
import { eventIdOf } from '../../events/event-id.js';
import { type DomainEvent, parseEvent } from '../../events/event.js';
import { OPERATIONS_STREAM } from '../../events/streams.js';
import type { OrganizationErased } from '../../events/types/operations.js';
import { BEGINNING, type EventLog, type NewEvent } from '../../event-log/event-log.js';
import { findEvents } from '../../event-log/find-events.js';
import type { LogEraser, OrganizationToErase } from '../../event-log/log-eraser.js';
import { newEvent } from '../../event-log/new-event.js';
import { followStream, START_OF_STREAM } from '../../event-log/stream-cursor.js';
import {
  APPEND_LOCK,
  COUNT_EVENTS,
  NAMES_OF_ORGANIZATION,
  READ_CERTIFICATE,
  REFUSE_ERASED,
  REWRITE_EVENTS,
  REWRITE_REASONS,
} from '../../event-log/postgres/erasure-sql.js';
import { rewriteLog } from '../../event-log/postgres/rewrite.js';
import { APPEND } from '../../event-log/postgres/statements.js';
import { pause } from '../../flow/retry.js';
import { databaseTime } from '../../postgres/clock.js';
import { LOCK_UNTIL_COMMIT } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { isTransient } from '../../postgres/transient-errors.js';
import {
  COUNT_CHECKPOINTS_AT,
  DELETE_ERASURE,
  ENTER_ERASURE,
  ENTER_NAMES,
  LOCK_CHECKPOINTS,
  READ_ERASED_NAMES,
  READ_ERASURE,
  RECORD_BATCH,
  ROW_STEPS,
  SHADOW_SCHEMAS,
} from '../../read-models/erasures/statements.js';
import { VERSION } from '../../runtime/version.js';
import type { Session } from '../runtime/session.js';

type Counts = Readonly<Record<string, number>>;
export type Certificate = OrganizationErased['data'];

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

/** Rows per transaction. */
const ROWS_PER_BATCH = 2_000;
const POLL_MS = 100;
/** How long to wait for a projector of the service before the call projects the rest of the log itself. */
const MAX_WAIT_FOR_PROJECTOR_MS = 3_000;
/**
 * How long after the start the first row is deleted. All instances know of the erasure by then, and have stored the
 * rejected events of others that name the organization.
 */
const SETTLE_MS = 2_500;
const SOURCE = 'threat-protection';

/** Makes an event with an id that a repeated call gives it again, so that the log stores it once. */
const eventOnce = (event: DomainEvent, digest: string, operator: string): NewEvent => ({
  ...newEvent(event, { operator }),
  id: eventIdOf(SOURCE, digest, event.type, OPERATIONS_STREAM),
});

const sumOf = (counts: Counts): number => Object.values(counts).reduce((sum, n) => sum + n, 0);
export const isEmpty = ({ events, rows }: Found): boolean => sumOf(events) + sumOf(rows) === 0;

/** Counts the events and the rows of an organization. Changes nothing. */
export const findOrganization = async (
  { pool, log }: Session,
  organization: string,
  onProgress: (progress: ErasureProgress) => void = () => {},
): Promise<Found> => {
  const to = Number(await log.head()) + 1;
  const report = (done: number): void => onProgress({ phase: 'events', done, fraction: Math.min(1, done / to) });
  if (log.eraser !== undefined) {
    const target = await targetOf(pool, log, organization);
    const found = await log.eraser.find(target, (position) => report(Number(position)));
    return { events: found, rows: await countRows(pool, organization) };
  }
  const events: Record<string, number> = {};
  const count = async (connection: PoolClient, from: number, next: number): Promise<void> => {
    for (const { type, events: n } of await COUNT_EVENTS.run(connection, { organization, from, to: next }))
      events[type] = (events[type] ?? 0) + n;
  };
  await rewriteLog(pool, { from: 0, to }, count, report);
  return { events, rows: await countRows(pool, organization) };
};

/** The keys of the organization are known by their digests once the events that name them have been erased. */
const targetOf = async (pool: Pool, log: EventLog, organization: string): Promise<OrganizationToErase> => {
  const logId = await log.id();
  const digests = new Set((await READ_ERASED_NAMES.run(pool, { logId })).map(({ digest }) => digest));
  const names = new Set(await log.eraser!.names(organization));
  return { organization, isKey: (keyId) => names.has(keyId) || digests.has(erasureDigest(logId, keyId)) };
};

const countRows = async (pool: Pool, organization: string): Promise<Counts> => {
  const rows: Record<string, number> = {};
  for (const { table, count } of ROW_STEPS) {
    const [row] = await count.run(pool, { organization });
    if (row!.rows > 0) rows[table] = (rows[table] ?? 0) + row!.rows;
  }
  return rows;
};

/** The certificate of an organization that was erased completely. */
export const readCertificate = async (
  { pool, log }: Session,
  organization: string,
): Promise<Certificate | undefined> => {
  const digest = erasureDigest(await log.id(), organization);
  if (log.eraser === undefined) {
    const [erased] = await READ_CERTIFICATE.run(pool, { digest });
    return erased && parseEvent('OrganizationErased', erased.data).event?.data;
  }
  let certificate: Certificate | undefined;
  await followStream(log, OPERATIONS_STREAM, 'Events about the log', START_OF_STREAM, ({ type, data }) => {
    const { event } = type === 'OrganizationErased' ? parseEvent('OrganizationErased', data) : {};
    if (event?.data.digest === digest) certificate ??= event.data;
  });
  return certificate;
};

/**
 * Starts the erasure in one transaction, under the lock of the log: no event of the organization is stored after
 * `OrganizationErasureStarted`. A repeated call changes nothing.
 */
const start = async ({ pool, log }: Session, organization: string, operator: string): Promise<void> => {
  const logId = await log.id();
  const digest = erasureDigest(logId, organization);
  const startedAt = await databaseTime(pool);
  const event = eventOnce({ type: 'OrganizationErasureStarted', data: { digest, logId, startedAt } }, digest, operator);
  if (log.eraser !== undefined) return startInStore(pool, log, log.eraser, organization, event, startedAt);
  await inTransaction(pool, async (connection) => {
    await LOCK_UNTIL_COMMIT.run(connection, { key: APPEND_LOCK });
    const names = await NAMES_OF_ORGANIZATION.run(connection, { organization });
    const digests = [digest, ...names.map(({ name }) => erasureDigest(logId, name))];
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
  eraser: LogEraser,
  organization: string,
  event: NewEvent,
  startedAt: number,
): Promise<void> => {
  const logId = await log.id();
  const digest = erasureDigest(logId, organization);
  const digests = [digest, ...(await eraser.names(organization)).map((name) => erasureDigest(logId, name))];
  await ENTER_NAMES.run(pool, { digests, logId });
  const { position } = await appendOnce(log, event);
  await ENTER_ERASURE.run(pool, { digest, startedAt, position: Number(position) });
};

/** Appends an event to the stream of operations, unless an earlier call has appended it. */
const appendOnce = async (log: EventLog, event: NewEvent): Promise<{ readonly position: bigint }> =>
  (await findEvents(log, OPERATIONS_STREAM, new Set([event.id]))).get(event.id) ??
  (await log.append(OPERATIONS_STREAM, 'any', [event]));

/** Erases the events in the store, once every process has heard of the erasure. */
const eraseInStore = async (
  { pool, log }: Session,
  eraser: LogEraser,
  organization: string,
  digest: string,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const [erasure] = await READ_ERASURE.run(pool, { digest });
  if (erasure) await pause(Math.max(0, erasure.startedAt + SETTLE_MS - (await databaseTime(pool))));
  const after = erasure && erasure.next > 0 ? BigInt(erasure.next) - 1n : BEGINNING;
  const head = Number(await log.head());
  await eraser.erase(await targetOf(pool, log, organization), after, async ({ events, first, last, position }) => {
    await RECORD_BATCH.run(pool, {
      digest,
      next: Number(position) + 1,
      events: JSON.stringify(events),
      rows: '{}',
      first: first === undefined ? null : Number(first),
      last: last === undefined ? null : Number(last),
    });
    onProgress({ phase: 'events', done: Number(position), fraction: Math.min(1, Number(position) / head) });
  });
};

const readErasure = async (pool: Pool, digest: string) => (await READ_ERASURE.run(pool, { digest }))[0]!;

const rewriteEvents = async (
  pool: Pool,
  organization: string,
  digest: string,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const { next: from, position } = await readErasure(pool, digest);
  const rewrite = async (connection: PoolClient, first: number, next: number): Promise<void> => {
    const rewritten = await REWRITE_EVENTS.run(connection, { organization, from: first, to: next });
    await RECORD_BATCH.run(connection, {
      digest,
      next,
      events: JSON.stringify(Object.fromEntries(rewritten.map(({ type, events }) => [type, events]))),
      rows: '{}',
      first: rewritten.length === 0 ? null : Math.min(...rewritten.map((each) => each.first)),
      last: rewritten.length === 0 ? null : Math.max(...rewritten.map((each) => each.last)),
    });
  };
  await rewriteLog(pool, { from, to: position }, rewrite, (done) =>
    onProgress({ phase: 'events', done, fraction: done / position }),
  );
  await REWRITE_REASONS.run(pool, {});
};

/** Drops the tables of rebuilds and verifications in progress, which may have read events before they were rewritten. */
const dropShadowTables = async (pool: Pool): Promise<void> => {
  for (const { name } of await SHADOW_SCHEMAS.run(pool, {}))
    await retrying(() => pool.query(`drop schema if exists "${name}" cascade`));
};

/** Retries a statement that a lock of another process made fail. */
const retrying = async <Result>(work: () => Promise<Result>): Promise<Result> => {
  for (let attempt = 1; ; attempt += 1)
    try {
      return await work();
    } catch (error) {
      if (attempt === 10 || !isTransient(error)) throw error;
      await pause(POLL_MS);
    }
};

/**
 * Waits until every projection has applied the log up to a position, so that no projector can still hold earlier events
 * in memory. If no projector of the service gets there, this call projects the log itself.
 */
export const awaitProjections = async ({ pool, log }: Session, position: number): Promise<void> => {
  const isReached = async (): Promise<boolean> =>
    (await COUNT_CHECKPOINTS_AT.run(pool, { position }))[0]!.reached >= PROJECTIONS.length;
  const helpAt = performance.now() + MAX_WAIT_FOR_PROJECTOR_MS;
  while (!(await isReached()) && performance.now() < helpAt) await pause(POLL_MS);
  if (await isReached()) return;
  const stop = new AbortController();
  const running = Promise.all(
    LANES.map(({ projections }) => new Projector(log, pool, projections, { onError: () => {} }).run(stop.signal)),
  );
  let failure: { readonly error: unknown } | undefined;
  running.catch((error: unknown) => (failure = { error }));
  while (failure === undefined && !(await isReached())) await pause(POLL_MS);
  stop.abort();
  await running;
};

const eraseRows = async (
  pool: Pool,
  organization: string,
  digest: string,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  let done = 0;
  for (const { table, erase } of ROW_STEPS)
    for (;;) {
      const startedAt = performance.now();
      const rows = await retrying(() =>
        inTransaction(pool, async (connection) => {
          await LOCK_CHECKPOINTS.run(connection, {});
          const [erased] = await erase.run(connection, { organization, limit: ROWS_PER_BATCH });
          const counts = JSON.stringify(erased!.rows === 0 ? {} : { [table]: erased!.rows });
          await RECORD_BATCH.run(connection, {
            digest,
            next: null,
            events: '{}',
            rows: counts,
            first: null,
            last: null,
          });
          return erased!.rows;
        }),
      );
      if (rows === 0) break;
      done += rows;
      onProgress({ phase: 'rows', done, fraction: undefined });
      await pause(performance.now() - startedAt);
    }
};

/**
 * Erases an organization: rewrites its events, deletes its rows, and records a certificate. A call that was killed is
 * continued by the next call.
 * @param operator who erases the organization, for the metadata of the events
 * @throws NotFound if neither the log nor a table has anything of the organization
 */
export const eraseOrganization = async (
  session: Session,
  organization: string,
  operator: string,
  onProgress: (progress: ErasureProgress) => void = () => {},
): Promise<Certificate> => {
  const { pool, log } = session;
  const logId = await log.id();
  const digest = erasureDigest(logId, organization);
  const earlier = await readCertificate(session, organization);
  if (earlier === undefined) {
    const isStarted = (await READ_ERASURE.run(pool, { digest })).length > 0;
    // The whole log is searched only if the tables have nothing.
    const isKnown = isStarted || sumOf(await countRows(pool, organization)) > 0;
    if (!isKnown && isEmpty(await findOrganization(session, organization, onProgress)))
      throw new NotFound(`Nothing is stored of an organization ${organization}`);
    await start(session, organization, operator);
    if (log.eraser === undefined) await rewriteEvents(pool, organization, digest, onProgress);
    else await eraseInStore(session, log.eraser, organization, digest, onProgress);
    await dropShadowTables(pool);
    const { position, startedAt: since } = await readErasure(pool, digest);
    await awaitProjections(session, position);
    await pause(Math.max(0, since + SETTLE_MS - (await databaseTime(pool))));
    await eraseRows(pool, organization, digest, onProgress);
    const { startedAt, events, rows, firstPosition, lastPosition } = await readErasure(pool, digest);
    const certificate = {
      digest,
      logId,
      startedAt,
      finishedAt: await databaseTime(pool),
      version: VERSION,
      events,
      rows,
      firstPosition: firstPosition ?? undefined,
      lastPosition: lastPosition ?? undefined,
    };
    const erased = eventOnce({ type: 'OrganizationErased', data: certificate }, digest, operator);
    await appendOnce(log, erased);
  } else if (log.eraser !== undefined) {
    // A process that was stopped for seconds may have stored an event after the erasure.
    await eraseInStore(session, log.eraser, organization, digest, onProgress);
  }
  await DELETE_ERASURE.run(pool, { digest });
  return (await readCertificate(session, organization))!;
};

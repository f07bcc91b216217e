import type { Pool, PoolClient } from 'pg';
import {
  RECORD_BATCH,
  READ_ERASURE,
  LOCK_CHECKPOINTS,
  ROW_STEPS,
  SHADOW_SCHEMAS,
  DELETE_ERASURE,
} from '../../read-models/erasures.js';
import { BEGINNING, type LogEraser } from '../../event-log/event-log.js';
import {
  OPERATIONS_LENGTH,
  REWRITE_EVENTS,
  REWRITE_REASONS,
  forEachBatch,
} from '../../event-log/postgres/rewriting.js';
import { pause, retry } from '../../flow/time.js';
import { databaseTime } from '../../postgres/clock.js';
import type { Session } from '../session.js';
import {
  type ErasureProgress,
  targetOf,
  type Subject,
  type Counts,
  countRows,
  findOrganization,
  isEmpty,
  sumOf,
  type Certificate,
  readCertificate,
  appendOnce,
  enterNames,
  eventOnce,
  readStart,
  startErasure,
} from './find-organization.js';
import { inTransaction } from '../../postgres/transaction.js';
import { isTransient } from '../../postgres/transient-errors.js';
import { Conflict, NotFound } from '../../errors.js';
import { renewStatistics } from './statistics-sql.js';
import { DROP_SNAPSHOT, LOCK_IF_FREE } from '../../postgres/statement.js';
import { VERSION } from '../../runtime/version.js';
import { forgetNames } from '../../lists/names/name-statements.js';
import { dropPreviousTables } from '../../read-models/previous-version.js';
import { awaitProjections } from '../projections.js';

/** What a transaction of an erasure has erased. */
interface ErasedBatch {
  /** Number of events by type. */
  readonly events?: Readonly<Record<string, number>>;
  /** Number of rows by table. */
  readonly rows?: Readonly<Record<string, number>>;
  /** The position at which a repeated call continues, if the batch is part of the log. */
  readonly next?: number;
  /** The positions of the first and the last erased event, if there is one. */
  readonly first?: number | undefined;
  readonly last?: number | undefined;
}

/** Adds a batch to the record of an erasure, from which its certificate is made. */
const recordBatch = async (
  connection: Pool | PoolClient,
  digest: string,
  { events = {}, rows = {}, next, first, last }: ErasedBatch,
): Promise<void> => {
  await RECORD_BATCH.run(connection, {
    digest,
    next: next ?? null,
    events: JSON.stringify(events),
    rows: JSON.stringify(rows),
    first: first ?? null,
    last: last ?? null,
  });
};

/**
 * How long after the start the first row is deleted. All instances know of the erasure by then, and have stored the
 * rejected events of others that name the organization.
 */
const SETTLE_MS = 2_500;

const readErasure = async (pool: Pool, digest: string) => (await READ_ERASURE.run(pool, { digest }))[0]!;

/** @param to the position after the last event to rewrite */
const rewriteEvents = async (
  pool: Pool,
  { organization, digest }: Subject,
  { from, to }: { readonly from: number; readonly to: number },
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const rewrite = async (connection: PoolClient, first: number, next: number): Promise<void> => {
    const rewritten = await REWRITE_EVENTS.run(connection, { organization, from: first, to: next });
    await recordBatch(connection, digest, {
      next,
      events: Object.fromEntries(rewritten.map(({ type, events }) => [type, events])),
      ...(rewritten.length > 0 && {
        first: Math.min(...rewritten.map((each) => each.first)),
        last: Math.max(...rewritten.map((each) => each.last)),
      }),
    });
  };
  await forEachBatch(pool, { from, to }, rewrite, (done) => onProgress({ phase: 'events', done, fraction: done / to }));
  const [operations] = await OPERATIONS_LENGTH.run(pool, {});
  await forEachBatch(pool, { from: 0, to: operations!.length }, async (connection, first, next) => {
    await REWRITE_REASONS.run(connection, { from: first, to: next });
  });
};

/**
 * Rewrites what the log in PostgreSQL stored after the start of the erasure. The log refuses events of the organization,
 * but not the revocation of a key, which does not name the organization.
 */
const rewriteLateEvents = async (
  { pool, log }: Session,
  subject: Subject,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const started = await readStart(log, subject.digest);
  const to = Number(await log.head()) + 1;
  await rewriteEvents(pool, subject, { from: Number(started?.position ?? 0), to }, onProgress);
};

/** Erases the events in the store, once every process has heard of the erasure. */
const eraseInStore = async (
  { pool, log }: Session,
  eraser: LogEraser,
  subject: Subject,
  onProgress: (progress: ErasureProgress) => void,
): Promise<void> => {
  const { digest } = subject;
  const [erasure] = await READ_ERASURE.run(pool, { digest });
  if (erasure) await pause(Math.max(0, erasure.startedAt + SETTLE_MS - (await databaseTime(pool))));
  const after = erasure && erasure.next > 0 ? BigInt(erasure.next) - 1n : BEGINNING;
  const head = Number(await log.head());
  await eraser.erase(await targetOf(pool, log, subject), after, async ({ events, first, last, position }) => {
    await recordBatch(pool, digest, {
      next: Number(position) + 1,
      events,
      first: first === undefined ? undefined : Number(first),
      last: last === undefined ? undefined : Number(last),
    });
    onProgress({ phase: 'events', done: Number(position), fraction: Math.min(1, Number(position) / head) });
  });
};

/** Rows per transaction. */
const ROWS_PER_BATCH = 2_000;
/**
 * Follows the indexes that begin with the organization: a sequential scan would pass all rows that the earlier batches
 * have deleted. A table without such an index is still scanned, which must not look expensive enough to be compiled.
 */
const BY_INDEX = 'begin; set local enable_seqscan = off; set local enable_bitmapscan = off; set local jit = off';
const RETRY_MS = 100;
const MAX_ATTEMPTS = 10;

/** Drops the tables of rebuilds and verifications in progress, which may have read events before they were rewritten. */
const dropShadowTables = async (pool: Pool): Promise<void> => {
  for (const { name } of await SHADOW_SCHEMAS.run(pool, {}))
    await retrying(() => pool.query(`drop schema if exists "${name}" cascade`));
};

/** Retries a statement that a lock of another process made fail. */
const retrying = <Result>(work: () => Promise<Result>): Promise<Result> => {
  let failures = 0;
  return retry(work, (error) => ((failures += 1) < MAX_ATTEMPTS && isTransient(error) ? RETRY_MS : undefined));
};

/**
 * Erases the rows of an organization.
 * @returns the number of deleted or changed rows by table
 */
export const eraseRows = async (
  pool: Pool,
  { organization, digest }: Subject,
  onProgress: (progress: ErasureProgress) => void,
): Promise<Counts> => {
  const counts: Record<string, number> = {};
  let done = 0;
  for (const { table, isShared, erase } of ROW_STEPS)
    for (;;) {
      const startedAt = performance.now();
      const eraseBatch = async (connection: PoolClient): Promise<number> => {
        await LOCK_CHECKPOINTS.run(connection, {});
        const [erased] = await erase.run(connection, { organization, limit: ROWS_PER_BATCH });
        await recordBatch(connection, digest, { rows: erased!.rows === 0 ? {} : { [table]: erased!.rows } });
        return erased!.rows;
      };
      const rows = await retrying(() => inTransaction(pool, eraseBatch, isShared ? 'begin' : BY_INDEX));
      if (rows === 0) break;
      done += rows;
      counts[table] = (counts[table] ?? 0) + rows;
      onProgress({ phase: 'rows', done, fraction: undefined });
      await pause(performance.now() - startedAt);
    }
  return counts;
};

export interface Erased {
  readonly certificate: Certificate;
  /** The rows that a process wrote after an earlier call had recorded the certificate, and that this call erased. */
  readonly lateRows: Counts;
}

/**
 * Erases an organization: rewrites its events, deletes its rows, and records a certificate. A call that was killed is
 * continued by the next call. After a complete erasure, a call erases what a process that was stopped for seconds has
 * written since.
 * @param operator who erases the organization, for the metadata of the events
 * @throws NotFound if neither the log nor a table has anything of the organization
 * @throws Conflict if another call is erasing the organization
 */
export const eraseOrganization = (
  session: Session,
  subject: Subject,
  operator: string,
  onProgress: (progress: ErasureProgress) => void = () => {},
): Promise<Erased> =>
  // The lock ends with the connection, so a call that was killed keeps no later call from continuing.
  inTransaction(session.pool, async (connection) => {
    const { organization, digest } = subject;
    const [lock] = await LOCK_IF_FREE.run(connection, { key: BigInt(`0x${digest.slice(0, 15)}`) });
    if (!lock!.is_locked)
      throw new Conflict(
        `Another call is erasing ${organization}. Repeat this call when the other has ended, to see the certificate`,
      );
    await connection.query(DROP_SNAPSHOT);
    return eraseAlone(session, subject, operator, onProgress);
  });

const eraseAlone = async (
  session: Session,
  subject: Subject,
  operator: string,
  onProgress: (progress: ErasureProgress) => void,
): Promise<Erased> => {
  const { pool, log } = session;
  const { organization, logId, digest } = subject;
  let lateRows: Counts = {};
  const earlier = await readCertificate(session, subject);
  if (earlier === undefined) {
    const isStarted = (await READ_ERASURE.run(pool, { digest })).length > 0;
    // The whole log is searched only if the tables have nothing.
    const isKnown = isStarted || sumOf(await countRows(session, organization)) > 0;
    if (!isKnown && isEmpty(await findOrganization(session, subject, onProgress)))
      throw new NotFound(`Nothing is stored of an organization ${organization}`);
    await startErasure(session, subject, operator);
    const { next, position, startedAt: since } = await readErasure(pool, digest);
    if (log.eraser === undefined) await rewriteEvents(pool, subject, { from: next, to: position }, onProgress);
    else await eraseInStore(session, log.eraser, subject, onProgress);
    await dropShadowTables(pool);
    await dropPreviousTables(pool);
    await awaitProjections(session, position);
    await forgetNames(pool);
    await pause(Math.max(0, since + SETTLE_MS - (await databaseTime(pool))));
    await eraseRows(pool, subject, onProgress);
    if (log.eraser === undefined) await rewriteLateEvents(session, subject, onProgress);
    await renewStatistics(pool);
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
  } else {
    // The database may have been restored from a backup that is older than the erasure.
    await enterNames(session, subject);
    await dropShadowTables(pool);
    await dropPreviousTables(pool);
    await forgetNames(pool);
    if (log.eraser === undefined) await rewriteLateEvents(session, subject, onProgress);
    else await eraseInStore(session, log.eraser, subject, onProgress);
    lateRows = await eraseRows(pool, subject, onProgress);
    await renewStatistics(pool);
  }
  await DELETE_ERASURE.run(pool, { digest });
  return { certificate: (await readCertificate(session, subject))!, lateRows };
};

import { Conflict, NotFound } from '../../errors.js';
import { pause } from '../../flow/retry.js';
import { databaseTime } from '../../postgres/clock.js';
import { renewStatistics } from './statistics-sql.js';
import { LOCK_IF_FREE } from '../../postgres/statements.js';
import { inTransaction } from '../../postgres/transaction.js';
import { DELETE_ERASURE, READ_ERASURE } from '../../read-models/erasures/statements.js';
import { VERSION } from '../../runtime/version.js';
import type { Session } from '../runtime/session.js';
import { awaitProjections } from './await-projections.js';
import { eraseInStore, readErasure, rewriteEvents, SETTLE_MS } from './erase-events.js';
import { dropShadowTables, eraseRows } from './erase-rows.js';
import { type Counts, countRows, type ErasureProgress, findOrganization, isEmpty, sumOf } from './find-organization.js';
import { type Certificate, readCertificate } from './read-certificate.js';
import { appendOnce, eventOnce, startErasure } from './start-erasure.js';
import type { Subject } from './subject.js';

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
    if (log.eraser === undefined) await rewriteEvents(pool, subject, onProgress);
    else await eraseInStore(session, log.eraser, subject, onProgress);
    await dropShadowTables(pool);
    const { position, startedAt: since } = await readErasure(pool, digest);
    await awaitProjections(session, position);
    await pause(Math.max(0, since + SETTLE_MS - (await databaseTime(pool))));
    await eraseRows(pool, subject, onProgress);
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
    // The log in PostgreSQL refuses late events.
    if (log.eraser !== undefined) await eraseInStore(session, log.eraser, subject, onProgress);
    lateRows = await eraseRows(pool, subject, onProgress);
    await renewStatistics(pool);
  }
  await DELETE_ERASURE.run(pool, { digest });
  return { certificate: (await readCertificate(session, subject))!, lateRows };
};

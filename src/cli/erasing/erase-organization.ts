import { NotFound } from '../../errors.js';
import { erasureDigest } from '../../events/erasure.js';
import { pause } from '../../flow/retry.js';
import { databaseTime } from '../../postgres/clock.js';
import { DELETE_ERASURE, READ_ERASURE } from '../../read-models/erasures/statements.js';
import { VERSION } from '../../runtime/version.js';
import type { Session } from '../runtime/session.js';
import { awaitProjections } from './await-projections.js';
import { eraseInStore, readErasure, rewriteEvents, SETTLE_MS } from './erase-events.js';
import { dropShadowTables, eraseRows } from './erase-rows.js';
import { countRows, type ErasureProgress, findOrganization, isEmpty, sumOf } from './find-organization.js';
import { type Certificate, readCertificate } from './read-certificate.js';
import { appendOnce, eventOnce, startErasure } from './start-erasure.js';

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
    await startErasure(session, organization, operator);
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

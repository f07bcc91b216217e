import { READ_CERTIFICATE } from '../../event-log/postgres/erasure-sql.js';
import { followStream, START_OF_STREAM } from '../../event-log/stream-cursor.js';
import { parseEvent } from '../../events/event.js';
import { OPERATIONS_STREAM } from '../../events/streams.js';
import type { OrganizationErased } from '../../events/types/operations.js';
import type { Session } from '../runtime/session.js';
import type { Subject } from './subject.js';

export type Certificate = OrganizationErased['data'];

/** The certificate of an organization that was erased completely. */
export const readCertificate = async (
  { pool, log }: Session,
  { digest }: Subject,
): Promise<Certificate | undefined> => {
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

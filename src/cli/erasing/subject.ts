import type { EventLog } from '../../event-log/event-log.js';
import { erasureDigest } from '../../events/erasure.js';

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

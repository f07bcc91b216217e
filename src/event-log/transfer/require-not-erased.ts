import { Conflict } from '../../errors.js';
import { ErasedOrganizations } from '../erased-organizations.js';
import type { EventLog } from '../event-log.js';

/** @throws Conflict if the organization was erased from this log, even if the erasure has not ended */
export const requireNotErased = async (log: EventLog, organization: string): Promise<void> => {
  const erased = new ErasedOrganizations();
  await erased.read(log);
  if (erased.has(organization))
    throw new Conflict(`${organization} was erased from this installation, and an erasure is final`);
};

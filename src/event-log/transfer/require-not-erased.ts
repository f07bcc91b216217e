import { hash } from 'node:crypto';
import { Conflict } from '../../errors.js';
import { OPERATIONS_STREAM } from '../../events/streams.js';
import type { EventLog } from '../event-log.js';

const PAGE = 1_000;

/** Identifies an erased organization without its name: SHA-256 over the id of the log and the slug, hex. */
export const erasureDigest = (logId: string, organization: string): string =>
  hash('sha256', `${logId}\n${organization}`);

/** @throws Conflict if the organization was erased from this log, even if the erasure has not ended */
export const requireNotErased = async (log: EventLog, organization: string): Promise<void> => {
  const digest = erasureDigest(await log.id(), organization);
  for (let from = 0n; ;) {
    const page = await log.readStream(OPERATIONS_STREAM, from, PAGE);
    for (const { type, data } of page)
      if (type === 'OrganizationErasureStarted' && (data as { readonly digest?: unknown } | null)?.digest === digest)
        throw new Conflict(`${organization} was erased from this installation, and an erasure is final`);
    if (page.length < PAGE) return;
    from = page.at(-1)!.revision + 1n;
  }
};

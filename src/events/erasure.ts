import { createHash } from 'node:crypto';

/** Names an erased organization, or one of its keys and endpoints, without revealing the name to readers of the log. */
export const erasureDigest = (logId: string, name: string): string =>
  createHash('sha256').update(`${logId}:${name}`).digest('hex');

import type { Session } from '../runtime/session.js';
import { ContentsInPostgres } from './contents-in-postgres.js';
import { ContentsInStore } from './contents-in-store.js';
import type { StoredContents } from './stored-contents.js';

export const openStoredContents = ({ pool, log }: Session): StoredContents =>
  log.redactor === undefined ? new ContentsInPostgres(pool) : new ContentsInStore(pool, log.redactor);

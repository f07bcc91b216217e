import { Conflict } from '../../errors.js';
import { readConfig } from '../../runtime/config.js';

/**
 * @param call the name of the call, for the message
 * @throws Conflict if the log is in EventStoreDB, where an event cannot be rewritten
 */
export const requireLogInPostgres = (call: string): void => {
  if (readConfig().eventStoreUrl !== undefined)
    throw new Conflict(
      `${call} supports the log in PostgreSQL only; nothing was changed (docs/operations/data-lifecycle.md)`,
    );
};

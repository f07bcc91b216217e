import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { createPool } from '../../src/postgres/pool.js';
import { createDatabase, NO_LIMITS } from '../support/postgres.js';
import { describeEventLog, openedLog } from './event-log.contract.js';

describeEventLog({
  name: 'in PostgreSQL',
  hasExactDuplicates: true,
  open: async () => {
    const database = await createDatabase();
    return openedLog(
      () => createPostgresLog(createPool(database.url, () => {}, NO_LIMITS)),
      () => database.drop(),
    );
  },
});

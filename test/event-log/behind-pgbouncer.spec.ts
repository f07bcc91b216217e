import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { createPool } from '../../src/postgres/pool.js';
import { PGBOUNCER, PGBOUNCER_PACKAGE, startPgBouncer, USABLE } from '../support/pgbouncer.js';
import { createDatabase, NO_LIMITS } from '../support/postgres.js';
import { describeWith } from '../support/tools.js';
import { describeEventLog, openedLog } from './event-log.contract.js';

describeWith(PGBOUNCER !== undefined, PGBOUNCER_PACKAGE)('Behind PgBouncer', () => {
  describeEventLog({
    name: 'in PostgreSQL',
    hasExactDuplicates: true,
    open: async () => {
      const database = await createDatabase({ migrated: false });
      const pooler = await startPgBouncer(database.url, USABLE);
      return openedLog(
        () => createPostgresLog(createPool(pooler.url, () => {}, NO_LIMITS)),
        async () => {
          await pooler.stop();
          await database.drop();
        },
      );
    },
  });
});

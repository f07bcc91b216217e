import type { EventLog } from '../../src/event-log/event-log.js';
import { createPostgresLog } from '../../src/event-log/postgres/log.js';
import { createPool } from '../../src/postgres/pool.js';
import { createDatabase } from '../support/postgres.js';
import { describeEventLog } from './event-log.contract.js';

describeEventLog({
  name: 'in PostgreSQL',
  open: async () => {
    const database = await createDatabase({ migrated: false });
    const instances: EventLog[] = [];
    const another = async (): Promise<EventLog> => {
      const instance = await createPostgresLog(createPool(database.url, () => {}));
      instances.push(instance);
      return instance;
    };
    return {
      log: await another(),
      another,
      close: async () => {
        for (const instance of instances) await instance.close();
        await database.drop();
      },
    };
  },
});

import type { EventLog } from '../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { eventStores } from '../support/event-store.js';
import { describeEventLog } from './event-log.contract.js';

for (const { name, open } of eventStores)
  describeEventLog({
    name: `in ${name}`,
    open: async () => {
      const store = await open();
      const instances: EventLog[] = [];
      const another = async (): Promise<EventLog> => {
        const instance = await createEventStoreDbLog(store.url);
        instances.push(instance);
        return instance;
      };
      return {
        log: await another(),
        another,
        close: async () => {
          for (const instance of instances) await instance.close();
          await store.release();
        },
      };
    },
  });

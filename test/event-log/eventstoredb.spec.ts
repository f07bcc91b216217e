import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { eventStores } from '../support/event-store.js';
import { describeEventLog, openedLog } from './event-log.contract.js';

for (const { name, open } of eventStores)
  describeEventLog({
    name: `in ${name}`,
    open: async () => {
      const store = await open();
      return openedLog(
        () => createEventStoreDbLog(store.url),
        () => store.release(),
      );
    },
  });

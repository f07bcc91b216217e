import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { thisClock } from '../support/this-clock.js';
import { eventStores } from '../support/event-store.js';
import { describeEventLog, openedLog } from './event-log.contract.js';

for (const { name, open } of eventStores)
  describeEventLog({
    name: `in ${name}`,
    hasExactDuplicates: false,
    open: async () => {
      const store = await open();
      return openedLog(
        () => createEventStoreDbLog(store.url, thisClock),
        () => store.release(),
      );
    },
  });

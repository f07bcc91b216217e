import type { EventLog } from '../../src/event-log/event-log.js';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb.js';
import { EventStoreDouble } from '../support/eventstore-double/server.js';
import { describeEventLog } from './event-log.contract.js';

describeEventLog({
  name: 'in EventStoreDB, as a double speaks for it',
  open: async () => {
    const double = await EventStoreDouble.start();
    const instances: EventLog[] = [];
    const another = async (): Promise<EventLog> => {
      const instance = await createEventStoreDbLog(double.url);
      instances.push(instance);
      return instance;
    };
    return {
      log: await another(),
      another,
      close: async () => {
        for (const instance of instances) await instance.close();
        await double.stop();
      },
    };
  },
});

const serverUrl = process.env['EVENTSTORE_TEST_URL'];
if (serverUrl) {
  describeEventLog({
    name: `in EventStoreDB at ${new URL(serverUrl).host}`,
    open: async () => {
      const instances: EventLog[] = [];
      const another = async (): Promise<EventLog> => {
        const instance = await createEventStoreDbLog(serverUrl);
        instances.push(instance);
        return instance;
      };
      return {
        log: await another(),
        another,
        close: async () => {
          for (const instance of instances) await instance.close();
        },
      };
    },
  });
}

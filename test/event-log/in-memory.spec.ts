import { randomUUID } from 'node:crypto';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { describeEventLog, openedLog } from './event-log.contract.js';

describeEventLog({
  name: 'in memory',
  hasExactDuplicates: true,
  open: async () => {
    const store: RecordedEvent[] = [];
    const open = async (): Promise<InMemoryEventLog> => {
      const log = new InMemoryEventLog(store);
      // Other specs fill an in-memory log with a complete history, so it does not append its first event itself.
      if (store.length === 0)
        await log.append('operations', 'no-stream', [
          { id: randomUUID(), type: 'LogOpened', data: { logId: await log.id() }, metadata: {} },
        ]);
      return log;
    };
    return openedLog(open, async () => {});
  },
});

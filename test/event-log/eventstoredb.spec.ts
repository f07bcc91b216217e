import { expect, it } from '@jest/globals';
import { createEventStoreDbLog } from '../../src/event-log/eventstoredb/log.js';
import { thisClock } from '../support/this-clock.js';
import { eventStores } from '../support/event-store.js';
import { describeEventLog, openedLog } from './event-log.contract.js';

for (const { name, open } of eventStores) {
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

  it(`In ${name}, an instant is settled after 2 s, because the clock of the store may be that far behind`, async () => {
    const store = await open();
    const log = await createEventStoreDbLog(store.url, thisClock);
    try {
      for (const [ageMs, waitMs] of [
        [1_400, 600],
        [60_000, 250],
      ] as const) {
        const beganAt = performance.now();
        await log.settled(ageMs);
        // A timer may fire a millisecond early.
        expect(performance.now() - beganAt).toBeGreaterThanOrEqual(waitMs - 2);
      }
    } finally {
      await log.close();
      await store.release();
    }
  });
}

import { jest } from '@jest/globals';
import { DelayedFlush } from '../../src/flow/background.js';
import { ENTER_ERASURE } from '../../src/read-models/erasures.js';

/** The buffers of the APIs of this file that have rows in memory, which they write a second later. */
const buffers = new Set<DelayedFlush>();
const schedule = Reflect.get(DelayedFlush.prototype, 'schedule') as () => void;
DelayedFlush.prototype.schedule = function (this: DelayedFlush) {
  buffers.add(this);
  schedule.call(this);
};

/**
 * Lets the next erasure begin a minute ago, so that its call does not wait until every process knows of the erasure. The
 * APIs of this file have written their buffers, as they have after that wait. The first tests of `erase.spec.ts` and of
 * `erase-in-event-store.spec.ts` wait, and so do those of readers and of appends.
 */
export const beginErasureEarlier = async (): Promise<void> => {
  await Promise.all([...buffers].map((buffer) => buffer.now()));
  buffers.clear();
  const run = ENTER_ERASURE.run.bind(ENTER_ERASURE);
  // A repeated call continues the first one and enters nothing.
  jest
    .spyOn(ENTER_ERASURE, 'run')
    .mockImplementationOnce((connection, { startedAt, ...others }) =>
      run(connection, { startedAt: Number(startedAt) - 60_000, ...others }),
    );
};

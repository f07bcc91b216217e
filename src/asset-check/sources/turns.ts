import { setImmediate } from 'node:timers/promises';

/** How long background work may keep requests waiting, in ms. */
const LONGEST_TURN_MS = 2;

/** Lets requests pass while much is to be done: whoever works asks now and then whether its turn is over. */
export class Turns {
  private started = performance.now();

  isOver(): boolean {
    return performance.now() - this.started >= LONGEST_TURN_MS;
  }

  async pass(): Promise<void> {
    await setImmediate();
    this.started = performance.now();
  }
}

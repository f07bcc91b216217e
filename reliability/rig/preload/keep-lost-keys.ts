/** Removes the check that key events are still in the log, so that keys whose events were lost remain valid. */
import { EventsLost } from '../../../src/event-log/stream-cursor.js';
import { KeyRing } from '../../../src/api-keys/key-ring.js';
import type { EventLog } from '../../../src/event-log/event-log.js';

interface Ring {
  read(): Promise<void>;
  readonly log: EventLog;
  readonly keys: { read(log: EventLog, onRevoked: () => void): Promise<void> };
  readonly remembered: Map<string, unknown>;
  complete: boolean;
}

(KeyRing.prototype as unknown as Ring).read = async function (this: Ring) {
  await this.keys
    .read(this.log, () => this.remembered.clear())
    .catch((error: unknown) => {
      if (!(error instanceof EventsLost)) throw error;
    });
  this.complete = true;
};

/** Appends with the client package as it is: a process of its own, because the adapter changes the package in its. */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { distinctEvents } from './distinct-events.js';
import { inParallel } from './paired.js';

/** Appends for so long: so many at once, and so many such lots at a time. @returns appends a second, by lot */
export interface Appending {
  readonly lot: number;
  readonly lots: number;
  readonly ms: number;
}

/** Writes so many events as another service in the same store would. */
export interface Filling {
  readonly foreign: number;
}

const FOREIGN_AT_ONCE = 500;
const FOREIGN_STREAMS = 97;

const [url, prefix, run] = process.argv.slice(2) as [string, string, string];
const client = EventStoreDBClient.connectionString(url);
const next = distinctEvents(run);
const append = (): Promise<unknown> => {
  const { stream, event } = next();
  return client.appendToStream(prefix + stream, [jsonEvent(event as never)]);
};

const appending = ({ lot, lots, ms }: Appending): Promise<number> => {
  const sendLot = (): Promise<unknown> => (lot === 1 ? append() : Promise.all(Array.from({ length: lot }, append)));
  return inParallel(lots, sendLot)(ms);
};

const filling = async ({ foreign }: Filling): Promise<number> => {
  const data = { text: 'x'.repeat(300) };
  for (let n = 0; n < foreign; n += FOREIGN_AT_ONCE)
    await client.appendToStream(
      `order-${run}-${n % FOREIGN_STREAMS}`,
      Array.from({ length: FOREIGN_AT_ONCE }, () => jsonEvent({ id: randomUUID(), type: 'OrderPlaced', data })),
    );
  return foreign;
};

process.on('message', (asked: Appending | Filling) => {
  ('foreign' in asked ? filling(asked) : appending(asked)).then(
    (done) => process.send!({ done }),
    (error: Error) => process.send!({ error: error.message }),
  );
});
process.on('disconnect', () => process.exit());
process.send!('ready');

/** Appends with the client package as it is: a process of its own, because the adapter changes the package in its. */
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { distinctEvents } from './distinct-events.js';
import { inParallel } from './paired.js';

export interface Appending {
  /** How many appends are sent at once, and how many such lots at a time. */
  readonly lot: number;
  readonly lots: number;
  readonly ms: number;
}

const [url, prefix, run] = process.argv.slice(2) as [string, string, string];
const client = EventStoreDBClient.connectionString(url);
const next = distinctEvents(run);
const append = (): Promise<unknown> => {
  const { stream, event } = next();
  return client.appendToStream(prefix + stream, [jsonEvent(event as never)]);
};

process.on('message', ({ lot, lots, ms }: Appending) => {
  const sendLot = (): Promise<unknown> => (lot === 1 ? append() : Promise.all(Array.from({ length: lot }, append)));
  inParallel(
    lots,
    sendLot,
  )(ms).then(
    (rate) => process.send!({ rate }),
    (error: Error) => process.send!({ error: error.message }),
  );
});
process.on('disconnect', () => process.exit());
process.send!('ready');

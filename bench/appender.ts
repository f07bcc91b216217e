/**
 * Appends with the adapter, or with the client package as it is: each in a process of its own, because the adapter
 * changes the package in its, and so that both have the same room.
 */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { distinctEvents } from './distinct-events.js';
import { inParallel } from './paired.js';
import { answerParent } from './process.js';
import { withPrefix } from '../test/support/event-store.js';
import { untilTaken } from './until-taken.js';

/** Appends for `ms`: `lots` at a time, each of `lot` appends sent together. Answered with lots a second. */
export interface Appending {
  readonly lot: number;
  readonly lots: number;
  readonly ms: number;
}

/** Writes this number of events as another service in the same store would. */
export interface Filling {
  readonly foreign: number;
}

const FOREIGN_AT_ONCE = 500;
const FOREIGN_STREAMS = 97;

const [kind, url, prefix, run] = process.argv.slice(2) as ['adapter' | 'client', string, string, string];
const client = EventStoreDBClient.connectionString(url);
const next = distinctEvents(run);

const withClient = (): Promise<unknown> => {
  const { stream, event } = next();
  return untilTaken(() => client.appendToStream(prefix + stream, [jsonEvent(event as never)]));
};

const openAdapter = async (): Promise<(lot: number) => Promise<unknown>> => {
  const { createEventStoreDbLog } = await import('../src/event-log/eventstoredb/log.js');
  const log = await createEventStoreDbLog(withPrefix(url, prefix));
  return (lot) => {
    const entries = Array.from({ length: lot }, next);
    return untilTaken(() => log.appendAll(entries));
  };
};

const sendLot =
  kind === 'adapter'
    ? await openAdapter()
    : (lot: number): Promise<unknown> =>
        lot === 1 ? withClient() : Promise.all(Array.from({ length: lot }, withClient));

const appending = ({ lot, lots, ms }: Appending): Promise<number> => inParallel(lots, () => sendLot(lot))(ms);

const filling = async ({ foreign }: Filling): Promise<number> => {
  const data = { text: 'x'.repeat(300) };
  for (let n = 0; n < foreign; n += FOREIGN_AT_ONCE)
    await client.appendToStream(
      `order-${run}-${n % FOREIGN_STREAMS}`,
      Array.from({ length: FOREIGN_AT_ONCE }, () => jsonEvent({ id: randomUUID(), type: 'OrderPlaced', data })),
    );
  return foreign;
};

answerParent((asked: Appending | Filling) => ('foreign' in asked ? filling(asked) : appending(asked)));

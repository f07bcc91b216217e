/**
 * Appends with the adapter or with the unchanged client package. Each runs in a separate process, because the adapter
 * patches the package in its process, and so that both have the same resources.
 */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { distinctEvents } from './distinct-events.js';
import { inParallel } from './paired.js';
import { answerParent } from './process.js';
import { withPrefix } from '../test/support/event-store.js';
import { untilTaken } from './until-taken.js';

/**
 * Appends for `ms` milliseconds: `lots` concurrent batches of `lot` appends. The response is the batches per second.
 */
export interface Appending {
  readonly lot: number;
  readonly lots: number;
  readonly ms: number;
}

/** Writes `foreign` events of another application to the same store. */
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

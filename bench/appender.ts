/**
 * Appends events with the adapter or with the unpatched client package. The adapter and the client run in separate
 * processes, because the adapter patches the package in its process, and so that both have the same resources.
 */
import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent } from '@eventstore/db-client';
import { distinctEvents } from './distinct-events.js';
import { inParallel } from './paired.js';
import { serveParent } from './process.js';
import { withPrefix } from '../test/support/event-store.js';
import { retryTimeouts } from './retry-timeouts.js';

/**
 * Asks the process to append for `ms` ms. `batches` batches run concurrently, each with `batchSize` appends. The
 * response is the number of batches per second.
 */
export interface AppendOptions {
  readonly batchSize: number;
  readonly batches: number;
  readonly ms: number;
}

/** Asks to write `foreign` events of another application to the store. */
export interface FillOptions {
  readonly foreign: number;
}

const FOREIGN_AT_ONCE = 500;
const FOREIGN_STREAMS = 97;

const [kind, url, prefix, run] = process.argv.slice(2) as ['adapter' | 'client', string, string, string];
const client = EventStoreDBClient.connectionString(url);
const next = distinctEvents(run);

const withClient = (): Promise<unknown> => {
  const { stream, event } = next();
  return retryTimeouts(() => client.appendToStream(prefix + stream, [jsonEvent(event as never)]));
};

const openAdapter = async (): Promise<(batchSize: number) => Promise<unknown>> => {
  const { createEventStoreDbLog } = await import('../src/event-log/eventstoredb/log.js');
  const log = await createEventStoreDbLog(withPrefix(url, prefix));
  return (batchSize) => {
    const entries = Array.from({ length: batchSize }, next);
    return retryTimeouts(() => log.appendAll(entries));
  };
};

const appendBatch =
  kind === 'adapter'
    ? await openAdapter()
    : (batchSize: number): Promise<unknown> =>
        batchSize === 1 ? withClient() : Promise.all(Array.from({ length: batchSize }, withClient));

const append = ({ batchSize, batches, ms }: AppendOptions): Promise<number> =>
  inParallel(batches, () => appendBatch(batchSize))(ms);

const fill = async ({ foreign }: FillOptions): Promise<number> => {
  const data = { text: 'x'.repeat(300) };
  for (let n = 0; n < foreign; n += FOREIGN_AT_ONCE)
    await client.appendToStream(
      `order-${run}-${n % FOREIGN_STREAMS}`,
      Array.from({ length: FOREIGN_AT_ONCE }, () => jsonEvent({ id: randomUUID(), type: 'OrderPlaced', data })),
    );
  return foreign;
};

serveParent((request: AppendOptions | FillOptions) => ('foreign' in request ? fill(request) : append(request)));

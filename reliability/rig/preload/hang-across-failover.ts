/**
 * While the process is told to hang, the writes of the lane of records and the pages of the feed wait before they are
 * sent, as on a connection that the network holds until a failover is over.
 */
import { Pool } from 'pg';
import { Projector } from '../../../projections/engine/projector.js';
import type { Batch } from '../../../src/event-log/event-log.js';
import type { ProjectionBatch } from '../../../projections/engine/dispatch-batch.js';

interface Writes {
  write: (parts: readonly ProjectionBatch[], piece: Batch, ...rest: unknown[]) => Promise<void>;
}
type Query = (...given: unknown[]) => unknown;

let end = Promise.resolve();
let go = (): void => {};
process.on('message', (message) => {
  if (message === 'hang') end = new Promise((resolve) => (go = resolve));
  else if (message === 'go') go();
});
// Otherwise the listener would keep a process that stops from ending.
process.channel?.unref();

const writer = Projector.prototype as unknown as Writes;
// oxlint-disable-next-line unbound-method
const { write } = writer;
writer.write = async function (this: Writes, parts, piece, ...rest) {
  if (piece.events.length > 0 && parts.some(({ projection }) => projection.name === 'records')) await end;
  return write.call(this, parts, piece, ...rest);
};

const pool = Pool.prototype as unknown as { query: Query };
const { query } = pool;
pool.query = function (this: Pool, ...given) {
  const { name = '' } = given[0] as { name?: string };
  return name.startsWith('feed-next') ? end.then(() => query.apply(this, given)) : query.apply(this, given);
};

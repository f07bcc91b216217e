/** Makes the projector use its own clock for `X-As-Of` instead of the database's clock. */
import type { Batch } from '../../../src/event-log/event-log.js';
import { PostgresLog } from '../../../src/event-log/postgres/log.js';

interface Reads {
  readBatch(after: bigint): Promise<Batch>;
}

const reads = PostgresLog.prototype as unknown as Reads;
// oxlint-disable-next-line unbound-method -- called with the log as `this`
const read = reads.readBatch;

reads.readBatch = async function (this: Reads, after) {
  return { ...(await read.call(this, after)), asOf: Date.now() };
};

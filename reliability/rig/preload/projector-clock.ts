/** Makes the projector use its own clock for `X-As-Of` instead of the database's clock. */
import type { Batch } from '../../../src/event-log/event-log.js';
import { PostgresLog } from '../../../src/event-log/postgres/log.js';

interface Reads {
  readPage(after: bigint): Promise<Batch>;
}

const read = Object.getOwnPropertyDescriptor(PostgresLog.prototype, 'readPage')!.value as Reads['readPage'];

(PostgresLog.prototype as unknown as Reads).readPage = async function (this: Reads, after) {
  return { ...(await read.call(this, after)), asOf: Date.now() };
};

import { randomBytes } from 'node:crypto';
import type { AppendOptions, FillOptions } from './appender.js';
import type { Bench } from './goal.js';
import type { Slice } from './paired.js';
import { sendToChild, startChild } from './process.js';

/** A process that appends events with the adapter or with the bare client. */
interface Appender {
  /** Returns a slice of `batches` concurrent batches of `batchSize` appends. Default: batches of one append. */
  readonly appendSlice: (batches: number, batchSize?: number) => Slice;
  /** Writes events of another application to the same store. */
  readonly fill: (foreign: number) => Promise<unknown>;
}

export const startAppender = async (
  bench: Bench,
  kind: 'adapter' | 'client',
  url: string,
  prefix: string,
): Promise<Appender> => {
  const child = await startChild('bench/appender.js', [kind, url, prefix, randomBytes(4).toString('hex')]);
  bench.onEnd(() => child.stop());
  const send = (request: AppendOptions | FillOptions): Promise<number> => sendToChild(child, request);
  return {
    appendSlice:
      (batches, batchSize = 1) =>
      (ms) =>
        send({ batches, batchSize, ms }),
    fill: (foreign) => send({ foreign }),
  };
};

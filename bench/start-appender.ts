import { randomBytes } from 'node:crypto';
import type { Appending, Filling } from './appender.js';
import type { Bench } from './goal.js';
import type { Slice } from './paired.js';
import { askChild, startChild } from './process.js';

/** A process that appends with the adapter or the bare client. */
interface Appender {
  /** Slices of `lots` concurrent batches of `lot` appends. */
  readonly appending: (lots: number, lot?: number) => Slice;
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
  const ask = (asked: Appending | Filling): Promise<number> => askChild(child, asked);
  return {
    appending:
      (lots, lot = 1) =>
      (ms) =>
        ask({ lots, lot, ms }),
    fill: (foreign) => ask({ foreign }),
  };
};

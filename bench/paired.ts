import { type Quartiles, quartilesOf } from './statistics.js';

/** Repeats some work for about `ms` ms, and returns the repetitions per second. */
export type Slice = (ms: number) => Promise<number>;

export interface Pair {
  readonly base: Slice;
  readonly target: Slice;
}

export interface SliceSchedule {
  readonly rounds: number;
  /** The duration of a slice, in ms. */
  readonly ms: number;
}

export interface Paired {
  /** Target ÷ base. */
  readonly ratio: Quartiles;
  /** Work per second. */
  readonly base: Quartiles;
  readonly target: Quartiles;
}

/**
 * Divides the rate of each target slice by the mean rate of the base slices before and after it, so that a slow phase
 * of the machine affects both.
 */
export const ratiosOf = (base: readonly number[], target: readonly number[]): number[] => {
  if (base.length !== target.length + 1)
    throw new RangeError(`${target.length} target slices need ${target.length + 1} base slices, not ${base.length}`);
  return target.map((rate, round) => rate / ((base[round]! + base[round + 1]!) / 2));
};

/** Measures base, target, base, target … base, after one warm-up slice of each. */
export const measurePaired = async (
  { base, target }: Pair,
  { rounds, ms }: SliceSchedule,
  onRound: (ratios: readonly number[]) => void = () => {},
): Promise<Paired> => {
  await base(ms / 2);
  await target(ms / 2);
  const baseRates = [await base(ms)];
  const targetRates: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    targetRates.push(await target(ms));
    baseRates.push(await base(ms));
    onRound(ratiosOf(baseRates, targetRates));
  }
  return {
    ratio: quartilesOf(ratiosOf(baseRates, targetRates)),
    base: quartilesOf(baseRates),
    target: quartilesOf(targetRates),
  };
};

/** A slice of sequential work. */
export const sequentially =
  (work: () => Promise<unknown>): Slice =>
  async (ms) => {
    const from = performance.now();
    let done = 0;
    let elapsed: number;
    do {
      await work();
      done += 1;
      elapsed = performance.now() - from;
    } while (elapsed < ms);
    return (done * 1000) / elapsed;
  };

/** A slice of concurrent workers, each of which works sequentially. */
export const inParallel =
  (workers: number, work: () => Promise<unknown>): Slice =>
  async (ms) => {
    const from = performance.now();
    let done = 0;
    const worker = async (): Promise<void> => {
      while (performance.now() - from < ms) {
        await work();
        done += 1;
      }
    };
    await Promise.all(Array.from({ length: workers }, worker));
    return (done * 1000) / (performance.now() - from);
  };

/** A slice of synchronous work that takes microseconds. Reads the clock only after `times` repetitions. */
export const inMemory =
  (work: () => void, times = 256): Slice =>
  (ms) => {
    const from = performance.now();
    let done = 0;
    let elapsed: number;
    do {
      for (let i = 0; i < times; i += 1) work();
      done += times;
      elapsed = performance.now() - from;
    } while (elapsed < ms);
    return Promise.resolve((done * 1000) / elapsed);
  };

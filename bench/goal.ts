import type { Database } from './database.js';
import { type SliceSchedule, measurePaired, type Pair, type Paired } from './paired.js';
import type { Quartiles } from './statistics.js';

/** One line of the table at the end. `compare-builds.ts` matches the lines of two builds by `goal` and `what`. */
export interface Line {
  readonly goal: string;
  /** What was measured. */
  readonly what: string;
  /** What the measurement was compared with, or `-`. */
  readonly against: string;
  readonly measured: Quartiles;
  /** The unit of `measured`, `must` and `aim`: `×`, `ms`, `s`, `MB`, … Empty for a ratio. */
  readonly unit: string;
  /**
   * The required value: a minimum, or a maximum if `more` is false. Omitted if a value is required only of the ratio to
   * another build.
   */
  readonly must?: number;
  /** The aim beyond the required value, if there is one. */
  readonly aim?: number;
  /** The required ratio to the figure of another build (`--against`), and the aim. */
  readonly ofOtherBuild?: { readonly must: number; readonly aim: number };
  /** Whether a greater figure is better. Default true. */
  readonly more?: boolean;
  /** The figures behind a ratio, and other notes. */
  readonly note?: string;
}

/** A table that shows how a figure grows. */
export interface Growth {
  readonly what: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** A line whose goal and unit may be omitted: the defaults are the name of the running goal and no unit. */
export interface Measured extends Omit<Line, 'goal' | 'unit'>, Partial<Pick<Line, 'goal' | 'unit'>> {}

export interface Sizes {
  /** Whether this is a smoke run: every goal runs, but the figures are meaningless. */
  readonly quick: boolean;
  /** The number of facts in the large data set. */
  readonly facts: number;
  /** The number of events in the log that is projected. */
  readonly events: number;
  /** Whether growth is measured up to 20 million events, and up to four times `facts`. */
  readonly twenty: boolean;
  readonly schedule: SliceSchedule;
}

/** The tools of a goal. */
export interface Bench {
  readonly sizes: Sizes;
  /** Creates a migrated database on the PostgreSQL server of the run. It is dropped at the end of the run. */
  database(): Promise<Database>;
  /** Returns the value of this name, which `make` creates once per run, so that goals share it. */
  shared<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** Adds a line to the table, even if the goal fails later. */
  keep(line: Measured): void;
  /** Prints an additional table. */
  keepGrowth(growth: Growth): void;
  /** Registers a clean-up function. Clean-up functions run in reverse order at the end of the run. */
  onEnd(end: () => Promise<unknown>): void;
  say(line: string): void;
}

export interface Goal {
  readonly name: string;
  /** Whether the goal measures the build in the folder `BENCH_BUILD`, so that it does not depend on the bench of that build. */
  readonly startsAnyBuild?: boolean;
  run(bench: Bench): Promise<readonly Measured[]>;
}

/** Measures a pair and prints the progress. */
export const measure = (
  bench: Bench,
  what: string,
  pair: Pair,
  schedule: SliceSchedule = bench.sizes.schedule,
): Promise<Paired> =>
  measurePaired(pair, schedule, (ratios) =>
    bench.say(`${what}: round ${ratios.length} of ${schedule.rounds}, ratio ${ratios.at(-1)!.toPrecision(3)}`),
  );

/** Formats the time per query for a note. */
export const perQuery = ({ base, target }: Paired): string =>
  `${(1000 / target.median).toFixed(2)} ms against ${(1000 / base.median).toFixed(2)} ms`;

/** Formats the two rates behind a ratio for a note. */
export const rates = ({ base, target }: Paired, unit: string): string =>
  `${formatAmount(target.median)} against ${formatAmount(base.median)} ${unit}`;

export const formatAmount = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

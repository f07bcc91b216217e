import type { Database } from './database.js';
import { type Dose, measurePaired, type Pair, type Paired } from './paired.js';
import type { Quartiles } from './statistics.js';

/** One line of the table at the end. */
export interface Line {
  readonly goal: string;
  readonly what: string;
  readonly against: string;
  readonly measured: Quartiles;
  /** `×`, `ms`, `s`, `MB` … */
  readonly unit: string;
  readonly must: number;
  /** Absent where there is nothing beyond the must. */
  readonly aim?: number;
  /** Whether a greater figure is better. Default true. */
  readonly more?: boolean;
  /** The figures behind a ratio, and what a reader has to know of them. */
  readonly note?: string;
}

/** How something grows: one table. */
export interface Growth {
  readonly what: string;
  readonly columns: readonly string[];
  readonly rows: readonly (readonly (string | number)[])[];
}

/** What a goal says of itself: its name and a ratio's unit go without saying. */
export interface Measured extends Omit<Line, 'goal' | 'unit'>, Partial<Pick<Line, 'goal' | 'unit'>> {}

export interface Sizes {
  /** A smoke dose: everything runs, no figure means anything. */
  readonly quick: boolean;
  /** Facts of the large data set. */
  readonly facts: number;
  /** Events in the log that is caught up with. */
  readonly events: number;
  /** Whether growth is measured up to four times that many. */
  readonly twenty: boolean;
  readonly dose: Dose;
}

/** What a goal is given to work with. */
export interface Bench {
  readonly sizes: Sizes;
  /** A fresh, migrated database on the run's PostgreSQL, dropped at the end. */
  database(): Promise<Database>;
  /** Made once a run, for those who share it. */
  shared<T>(name: string, make: () => Promise<T>): Promise<T>;
  /** A line that is in the table even if its goal fails later. */
  keep(line: Measured): void;
  /** A table beside the lines. */
  keepGrowth(growth: Growth): void;
  /** Done at the end of the run, the last first. */
  onEnd(end: () => Promise<unknown>): void;
  say(line: string): void;
}

export interface Goal {
  readonly name: string;
  run(bench: Bench): Promise<readonly Measured[]>;
}

/** Measures a pair and says how it goes. */
export const measure = (bench: Bench, what: string, pair: Pair, dose: Dose = bench.sizes.dose): Promise<Paired> =>
  measurePaired(pair, dose, (ratios) =>
    bench.say(`${what}: round ${ratios.length} of ${dose.rounds}, ratio ${ratios.at(-1)!.toPrecision(3)}`),
  );

/** How long one takes, for a line's note. */
export const perQuery = ({ base, target }: Paired): string =>
  `${(1000 / target.median).toFixed(2)} ms against ${(1000 / base.median).toFixed(2)} ms`;

/** The two rates behind a ratio, for a line's note. */
export const rates = ({ base, target }: Paired, unit: string): string =>
  `${amount(target.median)} against ${amount(base.median)} ${unit}`;

export const amount = (value: number): string =>
  value >= 1000 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(3);

export class TakedownTimes {
  /** Takedowns completed in the window, regardless of when they were filed. @example 98 */
  count!: number;
  /** Half of the takedowns took at most this long, in ms. Null if there are no takedowns. @example 172800000 */
  median!: number | null;
  /** Nine in ten takedowns took at most this long, in ms. Null if there are no takedowns. @example 518400000 */
  p90!: number | null;
  /** 99 in 100 takedowns took at most this long, in ms. Null if there are no takedowns. @example 1209600000 */
  p99!: number | null;
  /** The longest duration, in ms. Null if there are no takedowns. @example 1814400000 */
  longest!: number | null;
}

export class TakedownTimesOfType extends TakedownTimes {
  /** The asset type. @example 'URL' */
  type!: string;
}

export class TimeToTakedown extends TakedownTimes {
  /** The same figures for each asset type with a takedown completed in the window, sorted by count (highest first), then by name. */
  byType!: TakedownTimesOfType[];
}

/**
 * Takedowns are counted as in the metrics: deleted takedowns are excluded, and each takedown counts in its current
 * state. The takedowns of an organization are dated by creation, and the takedowns of a brand by last change. Durations
 * are dated by completion, so that they cover the takedowns that were completed in the window.
 */
export class TakedownStatistics {
  /** Takedowns filed in the window, or, for a brand, last changed in the window. The sum of the next four fields. @example 112 */
  filed!: number;
  /** Takedowns of `filed` that are completed. @example 90 */
  completed!: number;
  /** Takedowns of `filed` that have not ended, including takedowns whose retraction was only requested. @example 12 */
  open!: number;
  /** Takedowns of `filed` that were canceled. @example 7 */
  canceled!: number;
  /** Takedowns of `filed` that were retracted. @example 3 */
  retracted!: number;
  /** `completed` divided by `filed`. Null if `filed` is 0. @example 0.8036 */
  completionRate!: number | null;
  /**
   * How long the takedowns completed in the window took: from `createdAt` to the `updatedAt` of the completed state.
   * Each figure is an actual duration, not interpolated; a takedown that was completed before it was
   * created is counted without a duration.
   */
  timeToTakedown!: TimeToTakedown;
}

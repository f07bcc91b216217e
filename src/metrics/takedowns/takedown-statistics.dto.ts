export class TakedownTimes {
  /** Number of takedowns that were completed in the range, regardless of when they were filed. @example 98 */
  count!: number;
  /** Half of these takedowns took at most this long, in ms. Null if there are no takedowns. @example 172800000 */
  median!: number | null;
  /** 90 % of these takedowns took at most this long, in ms. Null if there are no takedowns. @example 518400000 */
  p90!: number | null;
  /** 99 % of these takedowns took at most this long, in ms. Null if there are no takedowns. @example 1209600000 */
  p99!: number | null;
  /** The longest duration, in ms. Null if there are no takedowns. @example 1814400000 */
  longest!: number | null;
}

export class TakedownTimesOfType extends TakedownTimes {
  /** The asset type. @example 'URL' */
  type!: string;
}

export class TimeToTakedown extends TakedownTimes {
  /** The same figures for each asset type with a takedown completed in the range, sorted by count (highest first), then by name. */
  byType!: TakedownTimesOfType[];
}

/**
 * Takedowns are counted as in the metrics: deleted takedowns are excluded, and each takedown counts in its current state.
 * The takedowns of an organization are dated by creation, and those of a brand by last change. Durations are dated by
 * completion, so that the durations of a range are those of the takedowns completed in that range.
 */
export class TakedownStatistics {
  /** Takedowns filed in the range, or, for a brand, last changed in the range. Equal to the sum of `completed`, `open`, `canceled` and `retracted`. @example 112 */
  filed!: number;
  /** Of the takedowns counted in `filed`, those that are completed. @example 90 */
  completed!: number;
  /** Of the takedowns counted in `filed`, those that have not ended, including those whose retraction has been requested but is not finished. @example 12 */
  open!: number;
  /** Of the takedowns counted in `filed`, those that were canceled. @example 7 */
  canceled!: number;
  /** Of the takedowns counted in `filed`, those that were retracted. @example 3 */
  retracted!: number;
  /** `completed` divided by `filed`. Null if `filed` is 0. @example 0.8036 */
  completionRate!: number | null;
  /**
   * How long the takedowns took that were completed in the range: from `createdAt` to the `updatedAt` of the completed
   * state. Each figure is an actual duration, not interpolated. A takedown whose completion is dated before its
   * creation counts in `count`, but has no duration.
   */
  timeToTakedown!: TimeToTakedown;
}

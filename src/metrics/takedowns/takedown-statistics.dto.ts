export class TakedownTimes {
  /** Takedowns completed in the window, whenever they were filed. @example 98 */
  count!: number;
  /** Half of them took at most this long, in ms; null if there is none. @example 172800000 */
  median!: number | null;
  /** Nine in ten took at most this long, in ms; null if there is none. @example 518400000 */
  p90!: number | null;
  /** 99 in 100 took at most this long, in ms; null if there is none. @example 1209600000 */
  p99!: number | null;
  /** The longest took this long, in ms; null if there is none. @example 1814400000 */
  longest!: number | null;
}

export class TakedownTimesOfType extends TakedownTimes {
  /** The asset type. @example 'URL' */
  type!: string;
}

export class TimeToTakedown extends TakedownTimes {
  /** The same per asset type with a takedown completed in the window, highest count first, then by name. */
  byType!: TakedownTimesOfType[];
}

/**
 * Counts takedowns as the metrics do: not deleted, in their current state, an organization's dated by creation and a
 * brand's by last change. Times are dated by completion, so that a window says how fast takedowns were completed in it.
 */
export class TakedownStatistics {
  /** Takedowns filed in the window (of a brand: last changed in it); the sum of the next four. @example 112 */
  filed!: number;
  /** Those of `filed` that are completed. @example 90 */
  completed!: number;
  /** Those of `filed` that have not ended, including ones whose retraction was only requested. @example 12 */
  open!: number;
  /** Those of `filed` that were canceled. @example 7 */
  canceled!: number;
  /** Those of `filed` that were retracted. @example 3 */
  retracted!: number;
  /** `completed` divided by `filed`; null if none was filed. @example 0.8036 */
  completionRate!: number | null;
  /**
   * How long the takedowns completed in the window took: from `createdAt` to the `updatedAt` of the completed state.
   * Each figure is an actual duration, not interpolated; a takedown completed before it was created is counted without one.
   */
  timeToTakedown!: TimeToTakedown;
}

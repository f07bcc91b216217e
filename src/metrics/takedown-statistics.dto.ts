export class TakedownTimes {
  /** Takedowns completed in the window, whenever they were filed. @example 98 */
  count!: number;
  /** Half of them took at most this long, in ms; null where there is none. @example 172800000 */
  median!: number | null;
  /** Nine of ten took at most this long, in ms; null where there is none. @example 518400000 */
  p90!: number | null;
  /** 99 of 100 took at most this long, in ms; null where there is none. @example 1209600000 */
  p99!: number | null;
  /** What the longest took, in ms; null where there is none. @example 1814400000 */
  longest!: number | null;
}

export class TakedownTimesOfType extends TakedownTimes {
  /** The asset type. @example 'URL' */
  type!: string;
}

export class TimeToTakedown extends TakedownTimes {
  /** The same of each asset type with a takedown completed in the window, the greatest count first, then by name. */
  byType!: TakedownTimesOfType[];
}

/**
 * What is counted is what the metrics count: takedowns not deleted, by their state as it is now, an organization's
 * dated by their creation and a brand's by their last change. Times are dated by the completion, so that a window says
 * how fast takedowns were completed in it.
 */
export class TakedownStatistics {
  /** Takedowns filed in the window (of a brand: last changed in it); the sum of the four that follow. @example 112 */
  filed!: number;
  /** Those of `filed` that are completed. @example 90 */
  completed!: number;
  /** Those of `filed` that have not ended; a retraction that is only asked for is one of them. @example 12 */
  open!: number;
  /** Those of `filed` that were canceled. @example 7 */
  canceled!: number;
  /** Those of `filed` that were retracted. @example 3 */
  retracted!: number;
  /** `completed` divided by `filed`; null where none was filed. @example 0.8036 */
  completionRate!: number | null;
  /**
   * How long takedowns took that were completed in the window: from `createdAt` to the `updatedAt` of the completed
   * state. Each figure is a time that one of them took, none is between two.
   */
  timeToTakedown!: TimeToTakedown;
}

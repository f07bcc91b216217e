/** The metric that a fact counts for. The numbers are permanent, because tables contain them. */
export const MEASURE = {
  report: 1,
  threat: 2,
  threatWatchlisted: 3,
  takedownFiled: 4,
  takedownCompleted: 5,
} as const;

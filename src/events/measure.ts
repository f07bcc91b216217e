/** What a fact counts. The numbers are stored in tables, so they are permanent. */
export const MEASURE = {
  report: 1,
  threat: 2,
  threatWatchlisted: 3,
  takedownFiled: 4,
  takedownCompleted: 5,
} as const;

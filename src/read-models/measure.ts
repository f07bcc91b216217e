/** What a fact is one of. The numbers are in the tables, for ever. */
export const MEASURE = {
  report: 1,
  threat: 2,
  threatWatchlisted: 3,
  takedownFiled: 4,
  takedownCompleted: 5,
} as const;

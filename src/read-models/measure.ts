/** What a fact is one of. The numbers are in the tables, for ever. */
export const MEASURE = {
  report: 1,
  threat: 2,
  threatWatchlisted: 3,
  takedownFiled: 4,
  takedownCompleted: 5,
} as const;

/** Block k is the days from k * DAYS_PER_BLOCK on; the number is in the tables, for ever. */
export const DAYS_PER_BLOCK = 32;

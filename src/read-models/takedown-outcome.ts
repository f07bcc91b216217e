/** The outcome of a takedown. The numbers are stored in tables, so they must not change. */
export const OUTCOME = {
  /** Any other status, including statuses that upstream may add later. */
  open: 0,
  completed: 1,
  canceled: 2,
  retracted: 3,
} as const;

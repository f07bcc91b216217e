/** How a takedown has ended, if it has. The numbers are stored in tables, so they are permanent. */
export const OUTCOME = {
  /** Every status that is none of the others, those that a later version of upstream may add included. */
  open: 0,
  completed: 1,
  canceled: 2,
  retracted: 3,
} as const;

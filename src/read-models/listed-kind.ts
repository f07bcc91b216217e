/** The kinds of listed records. The numbers are stored in tables, so they are permanent. */
export const LISTED_KIND = {
  report: 1,
  threat: 2,
  takedown: 3,
  verdict: 4,
} as const;
export type ListedKind = keyof typeof LISTED_KIND;

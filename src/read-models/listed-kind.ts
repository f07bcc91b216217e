/** The kinds of listed records. The numbers are stored in tables, so they are permanent. */
export const LISTED_KIND = {
  report: 1,
  threat: 2,
  takedown: 3,
  verdict: 4,
} as const;
export type ListedKind = keyof typeof LISTED_KIND;

/** The numbers of these kinds, ascending and each once; of all kinds if none is named. */
export const numbersOf = (names: Iterable<string> = Object.keys(LISTED_KIND)): number[] =>
  [...new Set(names)].map((name) => LISTED_KIND[name as ListedKind]).sort((a, b) => a - b);

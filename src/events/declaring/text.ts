/** Whether a string has more than this many code points. */
export const isLongerThan = (text: string, characters: number): boolean =>
  // Counting code points is expensive. The number of UTF-16 units, at most two per code point, often decides first.
  text.length > 2 * characters || (text.length > characters && [...text].length > characters);

/**
 * Whether the string contains U+0000 or a lone surrogate, which PostgreSQL, or a program that reads the log, cannot
 * store.
 */
export const isUnstorable = (text: string): boolean => text.includes('\0') || !text.isWellFormed();

/** JSON Schema pattern for storable strings. In a pattern, a surrogate range matches only lone surrogates. */
export const STORABLE_PATTERN = String.raw`^[^\u0000\uD800-\uDFFF]*$`;

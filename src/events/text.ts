/** Whether a text has more than so many characters (code points). */
export const isLongerThan = (text: string, characters: number): boolean =>
  // Code points are counted only where the cheaper count of UTF-16 units does not settle it.
  text.length > 2 * characters || (text.length > characters && [...text].length > characters);

/** Text that PostgreSQL and other readers of the log cannot hold. */
export const isUnstorable = (text: string): boolean => text.includes('\0') || !text.isWellFormed();

/** The same as a pattern of JSON Schema, in which a surrogate stands for itself only where it is alone. */
export const STORABLE_PATTERN = String.raw`^[^\u0000\uD800-\uDFFF]*$`;

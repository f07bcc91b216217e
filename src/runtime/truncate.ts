/**
 * Returns at most the first `length` UTF-16 units of a text. A surrogate pair that would be split, and any other lone
 * surrogate, becomes U+FFFD, because PostgreSQL and strict JSON parsers reject lone surrogates.
 */
export const truncate = (text: string, length: number): string => text.slice(0, length).toWellFormed();

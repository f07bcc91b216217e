/**
 * A column as a PostgreSQL array literal, several times faster than `pg` converts an array.
 * @param names ids, slugs and type names, which contain nothing that needs escaping
 */
export const nameArray = (names: readonly string[]): string => (names.length === 0 ? '{}' : `{"${names.join('","')}"}`);

/** Numbers, or null. */
export const nullableNumberArray = (numbers: readonly (number | null)[]): string =>
  `{${numbers.map(String).join(',')}}`;

export const numberArray = (numbers: readonly number[]): string => `{${numbers.join(',')}}`;

/** Strings as in `nameArray`, or numbers. */
export const columnArray = (column: readonly (string | number)[]): string =>
  typeof column[0] === 'string' ? nameArray(column as string[]) : numberArray(column as number[]);

/**
 * A column as the text of a PostgreSQL array, several times as fast as `pg` makes it of an array.
 * @param names ids, slugs and names of types, as `Fields` reads them: none of their characters has to be escaped
 */
export const nameArray = (names: readonly string[]): string => (names.length === 0 ? '{}' : `{"${names.join('","')}"}`);

export const numberArray = (numbers: readonly number[]): string => `{${numbers.join(',')}}`;

/** Texts as `nameArray` takes them, or numbers. */
export const columnArray = (column: readonly (string | number)[]): string =>
  typeof column[0] === 'string' ? nameArray(column as string[]) : numberArray(column as number[]);

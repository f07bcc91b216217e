/** Turns rows into columns, one array per field, for the array parameters of an `unnest`. */
export const columnsOf = <Row extends object, Field extends keyof Row>(
  rows: readonly Row[],
  ...fields: readonly Field[]
): { readonly [Name in Field]: readonly Row[Name][] } => {
  const columns = {} as { [Name in Field]: readonly Row[Name][] };
  for (const field of fields) columns[field] = rows.map((row) => row[field]);
  return columns;
};

/**
 * Formats a column as a PostgreSQL array literal, several times faster than `pg` does.
 * @param names ids, slugs or type names; nothing is escaped
 */
export const nameArray = (names: readonly string[]): string => (names.length === 0 ? '{}' : `{"${names.join('","')}"}`);

/** Formats numbers and nulls as a PostgreSQL array literal. */
export const nullableNumberArray = (numbers: readonly (number | null)[]): string =>
  `{${numbers.map(String).join(',')}}`;

export const numberArray = (numbers: readonly number[]): string => `{${numbers.join(',')}}`;

/** Formats names, as `nameArray` does, or numbers. */
export const columnArray = (column: readonly (string | number)[]): string =>
  typeof column[0] === 'string' ? nameArray(column as string[]) : numberArray(column as number[]);

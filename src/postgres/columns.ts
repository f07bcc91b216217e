/** Rows as the array parameters of an `unnest`: a column for each of these fields. */
export const columnsOf = <Row extends object, Field extends keyof Row>(
  rows: readonly Row[],
  ...fields: readonly Field[]
): { readonly [Name in Field]: readonly Row[Name][] } => {
  const columns = {} as { [Name in Field]: readonly Row[Name][] };
  for (const field of fields) columns[field] = rows.map((row) => row[field]);
  return columns;
};

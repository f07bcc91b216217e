/** Rows as the array parameters of an `unnest`: a column for each of these fields. */
export const columnsOf = <Row extends object, Field extends keyof Row>(
  rows: readonly Row[],
  ...fields: readonly Field[]
): Row[Field][][] => fields.map((field) => rows.map((row) => row[field]));

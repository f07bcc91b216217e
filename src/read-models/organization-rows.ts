/** How the rows of an organization are found in a table, in SQL. `:organization` is the slug. */
interface OrganizationRows {
  readonly where: string;
  /** The column with a name that `where` knows only once an erasure has begun. */
  readonly named?: string;
  /**
   * What removes the organization from rows that other organizations share. The rows then no longer match `where`.
   * Absent: the rows are deleted.
   */
  readonly set?: string;
}

/** By table. An empty list: the table has no rows of an organization. */
export type RowsByTable<Tables> = Readonly<Record<keyof Tables, readonly OrganizationRows[]>>;

/** The rows of a table in which each row belongs to one organization. */
export const OWN_ROWS: readonly OrganizationRows[] = [{ where: 'organization = :organization' }];

/** The rows of a table with a column that names a key or an endpoint. Only the digests of erased names are known. */
export const rowsOfNames = (column: string): readonly OrganizationRows[] => [
  { where: `service.is_erased(${column})`, named: column },
];

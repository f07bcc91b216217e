import { isDataError } from './transient-errors.js';

/**
 * Stores rows of several organizations with one call of `store`. If a row can never be stored, the rows are halved until
 * that row is alone, so that the row harms no other row.
 * @param store stores all of these rows or none of them; not called if there are no rows
 * @param onInvalid called with each row that can never be stored
 * @throws the first error of `store` that is not about the data; rows of earlier calls have been stored
 */
export const storeIsolated = async <Row>(
  rows: readonly Row[],
  store: (rows: readonly Row[]) => Promise<void>,
  onInvalid: (row: Row, error: unknown) => void,
): Promise<void> => {
  if (rows.length === 0) return;
  try {
    return await store(rows);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (rows.length === 1) return onInvalid(rows[0]!, error);
  }
  const middle = Math.ceil(rows.length / 2);
  await storeIsolated(rows.slice(0, middle), store, onInvalid);
  await storeIsolated(rows.slice(middle), store, onInvalid);
};

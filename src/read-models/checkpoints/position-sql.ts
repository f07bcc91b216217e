import type { ProjectionName } from './checkpoints.js';

/**
 * Returns SQL for the position of the log up to which all these projections have written their rows; -1 if one of them
 * has no checkpoint. As a column of the statement that reads the rows, it is from the same snapshot as the rows.
 */
export const positionOf = (...projections: readonly ProjectionName[]): string => `(
      select case when count(*) = ${projections.length} then min(position) else -1 end from read.checkpoints
      where projection in (${projections.map((name) => `'${name}'`).join(', ')}))`;

/**
 * Returns SQL for one row: the rows of `query` as the JSON array `rows`, and `position` as `positionOf` returns it, from
 * the same snapshot.
 */
export const rowsAtPosition = (query: string, ...projections: readonly ProjectionName[]): string => `
    select ${positionOf(...projections)} as position,
      (select coalesce(json_agg(listed), '[]') from (${query}
      ) listed) as rows`;

import type { Work } from '../../flow/time-slices.js';
import { Unprocessable } from '../../errors.js';
import { csvLine } from '../../http/responses/csv.js';
import { MAX_CELLS } from './timeline-sql.js';
import type { Timeline } from './timeline.dto.js';

const COLUMNS = [
  'start',
  'end',
  'reports',
  'newThreats',
  'threatsWatchlisted',
  'takedownsFiled',
  'takedownsCompleted',
] as const;

/**
 * Returns a line per point. After the fixed columns, there is a column per asset type (`byType.URL`), sorted by name.
 * @throws Unprocessable if the table would have more than `MAX_CELLS` counts by type
 */
export function* timelineCsv({ points }: Timeline): Work<string> {
  const names = new Set<string>();
  for (const { byType } of points) {
    for (const type of Object.keys(byType)) names.add(type);
    yield;
  }
  const types = [...names].sort();
  if (types.length * points.length > MAX_CELLS)
    throw new Unprocessable(
      `A table has at most ${MAX_CELLS} counts by type; request JSON, a longer interval or a shorter range`,
    );
  const lines = [csvLine([...COLUMNS, ...types.map((type) => `byType.${type}`)])];
  for (const point of points) {
    lines.push(csvLine([...COLUMNS.map((column) => point[column]), ...types.map((type) => point.byType[type] ?? 0)]));
    yield;
  }
  return lines.join('');
}

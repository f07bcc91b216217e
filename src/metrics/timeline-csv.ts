import type { Work } from '../cooperative/time-slices.js';
import { Unprocessable } from '../errors.js';
import { csvLine } from './csv.js';
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
 * A line for each point; after the columns of every timeline one for each asset type of this one, `byType.URL`, by name.
 * @throws Unprocessable where that are too many columns for its lines
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
      `A table has at most ${MAX_CELLS} counts by type; ask for JSON, a longer interval or a shorter range`,
    );
  const lines = [csvLine([...COLUMNS, ...types.map((type) => `byType.${type}`)])];
  for (const point of points) {
    lines.push(csvLine([...COLUMNS.map((column) => point[column]), ...types.map((type) => point.byType[type] ?? 0)]));
    yield;
  }
  return lines.join('');
}

import { Invalid, Unprocessable } from '../errors.js';
import { formatInstant, MS_PER_DAY } from '../events/instant.js';
import { MEASURE } from '../read-models/measure.js';
import type { Range } from './range.js';
import {
  type AtPoints,
  type CountedTimeline,
  hasEnd,
  hasStart,
  type Interval,
  MAX_CELLS,
  MAX_POINTS,
} from './timeline-sql.js';
import type { Timeline } from './timeline.dto.js';

type Point = Timeline['points'][number];

const FIELDS: Readonly<Record<number, 'reports' | 'threatsWatchlisted' | 'takedownsFiled' | 'takedownsCompleted'>> = {
  [MEASURE.report]: 'reports',
  [MEASURE.threatWatchlisted]: 'threatsWatchlisted',
  [MEASURE.takedownFiled]: 'takedownsFiled',
  [MEASURE.takedownCompleted]: 'takedownsCompleted',
};

const pointsOf = (starts: readonly number[], { from, to }: Range): Point[] =>
  starts.map((day, index) => {
    const next = starts[index + 1];
    return {
      start: formatInstant(index === 0 ? Math.max(from, day * MS_PER_DAY) : day * MS_PER_DAY),
      end: formatInstant(next === undefined ? to : next * MS_PER_DAY - 1),
      reports: 0,
      newThreats: 0,
      threatsWatchlisted: 0,
      takedownsFiled: 0,
      takedownsCompleted: 0,
      byType: {},
    };
  });

/** The window as it is answered: one without a start or an end has those of what is counted. */
const windowOf = ({ starts, lastAt }: CountedTimeline, range: Range, now: number): Range => ({
  from: hasStart(range) || starts === null ? range.from : starts[0]! * MS_PER_DAY,
  to: hasEnd(range) ? range.to : Math.max(now, lastAt ?? now),
});

/** The threats of an edge day, as those of whole days are given. */
const threatsAt = (point: number, facts: CountedTimeline['firstFacts']): AtPoints<string> =>
  (facts ?? []).flatMap(([measure, type, n]) => (measure === MEASURE.threat ? [[type, [point], [n]] as const] : []));

const byKey = ([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number =>
  a < b ? -1 : a === b ? 0 : 1;

/**
 * Puts together what was counted. The types of a point are in the order of their names, so that equal answers are equal
 * texts.
 * @param now ms
 * @throws Invalid where there are too many points, Unprocessable where there are too many types at them
 */
export const toTimeline = (counted: CountedTimeline, range: Range, interval: Interval, now: number): Timeline => {
  const starts = range.from > range.to ? [] : (counted.starts ?? []);
  if (starts.length > MAX_POINTS)
    throw new Invalid(`A timeline has at most ${MAX_POINTS} points; ask for a longer interval or a shorter range`);
  const { firstFacts, lastFacts } = counted;
  const threats = [...threatsAt(1, firstFacts), ...(counted.types ?? []), ...threatsAt(starts.length, lastFacts)].sort(
    byKey,
  );
  if (threats.reduce((sum, [, at]) => sum + at.length, 0) > MAX_CELLS)
    throw new Unprocessable(
      `A timeline holds at most ${MAX_CELLS} counts of a type at a point; ask for a longer interval or a shorter range`,
    );
  const window = windowOf(counted, range, now);
  const points = pointsOf(starts, window);
  for (const [type, at, counts] of threats)
    for (const [index, place] of at.entries()) {
      const point = points[place - 1]!;
      point.byType[type] = (point.byType[type] ?? 0) + counts[index]!;
      point.newThreats += counts[index]!;
    }
  for (const [measure, at, counts] of counted.measures ?? [])
    for (const [index, place] of at.entries()) points[place - 1]![FIELDS[measure]!] += counts[index]!;
  const addOthers = (facts: CountedTimeline['firstFacts'], point: Point | undefined): void => {
    for (const [measure, , n] of facts ?? []) if (measure !== MEASURE.threat) point![FIELDS[measure]!] += n;
  };
  addOthers(firstFacts, points[0]);
  addOthers(lastFacts, points.at(-1));
  return {
    window: { startDate: formatInstant(window.from), endDate: formatInstant(window.to) },
    interval,
    points,
  };
};

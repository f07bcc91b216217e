import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { type Work, TimeSlices } from '../flow/turns.js';
import { Invalid, Unprocessable } from '../errors.js';
import { formatInstant, MS_PER_DAY } from '../events/instant.js';
import { MEASURE } from '../events/facts.js';
import { type FactCounts, TOO_MANY } from './count-sql.js';
import type { Range } from '../http/parameters.js';
import { type CountedTimeline, type Interval, MAX_CELLS, MAX_POINTS, countTimeline } from './timeline-sql.js';
import { eachOf, type MetricOfRecords, METRICS_OF_RECORDS, type Timeline } from './metrics.dto.js';
import { csvLine, type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { arrayJson } from '../http/json.js';
import { MetricsQueries, type MetricsQuery } from './metrics-queries.js';

type Point = Timeline['points'][number];

/** The metric of each measure except threats, whose metric depends on the type too. */
export const FIELDS: Readonly<Record<number, Exclude<MetricOfRecords, 'newThreats'>>> = {
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
      ...eachOf(METRICS_OF_RECORDS, () => 0),
      byType: {},
    };
  });

/** Returns the range of the response. A missing start or end is determined by the counted facts. */
const windowOf = ({ starts, lastAt }: CountedTimeline, range: Range, now: number): Range => ({
  from: range.open === undefined || starts === null ? range.from : starts[0]! * MS_PER_DAY,
  to: range.open === 'both' ? Math.max(now, lastAt ?? now) : range.to,
});

/** Parses a PostgreSQL array of numbers. */
const numbers = (array: string): number[] => JSON.parse(`[${array.slice(1, -1)}]`) as number[];

const byKey = ([a]: readonly [string, ...unknown[]], [b]: readonly [string, ...unknown[]]): number =>
  a < b ? -1 : a === b ? 0 : 1;

const isThreat = ([measure]: FactCounts[number]): boolean => measure === MEASURE.threat;

/**
 * Assembles a timeline. The types of a point are sorted by name, so that equal timelines have equal JSON.
 * @param now the current time in ms
 * @throws Invalid if there are more than `MAX_POINTS` points, Unprocessable if there are more than `MAX_CELLS` counts
 *   by type
 */
function* toTimeline(counted: CountedTimeline, range: Range, interval: Interval, now: number): Work<Timeline> {
  const starts = range.from > range.to ? [] : (counted.starts ?? []);
  if (starts.length > MAX_POINTS)
    throw new Invalid(`A timeline has at most ${MAX_POINTS} points; request a longer interval or a shorter range`);
  const { types, firstFacts, lastFacts } = counted;
  if (types === TOO_MANY || firstFacts === TOO_MANY || lastFacts === TOO_MANY)
    throw new Unprocessable(
      `A timeline has at most ${MAX_CELLS} counts by type; request a longer interval or a shorter range`,
    );
  const window = windowOf(counted, range, now);
  const points = pointsOf(starts, window);
  const edges = [
    ...(firstFacts ?? []).map((fact) => [1, fact] as const),
    ...(lastFacts ?? []).map((fact) => [points.length, fact] as const),
  ];
  const threats = [
    ...(types ?? []),
    ...edges.flatMap(([pointNumber, fact]) =>
      isThreat(fact) ? [[fact[1], `{${pointNumber}}`, `{${fact[2]}}`] as const] : [],
    ),
  ].sort(byKey);
  yield;
  for (const [type, pointNumbers, counts] of threats) {
    const parsedCounts = numbers(counts);
    for (const [index, pointNumber] of numbers(pointNumbers).entries()) {
      const point = points[pointNumber - 1]!;
      point.byType[type] = (point.byType[type] ?? 0) + parsedCounts[index]!;
      point.newThreats += parsedCounts[index]!;
    }
    yield;
  }
  for (const [measure, pointNumbers, counts] of counted.measures ?? []) {
    const parsedCounts = numbers(counts);
    for (const [index, pointNumber] of numbers(pointNumbers).entries())
      points[pointNumber - 1]![FIELDS[measure]!] += parsedCounts[index]!;
  }
  for (const [pointNumber, fact] of edges) if (!isThreat(fact)) points[pointNumber - 1]![FIELDS[fact[0]]!] += fact[2];
  return {
    window: { startDate: formatInstant(window.from), endDate: formatInstant(window.to) },
    interval,
    points,
  };
}

const COLUMNS = ['start', 'end', ...METRICS_OF_RECORDS] as const;

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

/** Returns the same text as `JSON.stringify`, but yields after each point. */
export function* timelineJson({ points, ...rest }: Timeline): Work<string> {
  return `${JSON.stringify(rest).slice(0, -1)},"points":${yield* arrayJson(points)}}`;
}

export class GetTimeline extends queryOf<AsOf<Timeline>, MetricsQuery & { readonly interval: Interval }>() {}

@QueryHandler(GetTimeline)
export class GetTimelineHandler implements IQueryHandler<GetTimeline> {
  constructor(
    private readonly queries: MetricsQueries,
    private readonly slices: TimeSlices,
  ) {}

  /**
   * @throws as `MetricsQueries.run`
   * @throws Invalid if there are more than `MAX_POINTS` points, Unprocessable if there are more than `MAX_CELLS` counts
   *   by type
   */
  execute(query: GetTimeline): Promise<AsOf<Timeline>> {
    const { organization, brand, interval } = query;
    return this.queries.run(query, async (pool, range, now) => {
      const [counted] = await countTimeline(pool, organization, brand ?? '', range, interval, now);
      const timeline = await this.slices.run(organization, toTimeline(counted!, range, interval, now));
      return { result: timeline, ...momentOf(counted!), requestInstants: [now] };
    });
  }
}

import { naiveCount, type Query, type State } from '../support/naive-count.js';

/** A naive implementation of timelines, which counts each interval separately. */

export type NaiveInterval = 'day' | 'week' | 'month' | 'quarter' | 'year';

const startOf = (instant: number, interval: NaiveInterval): Date => {
  const date = new Date(instant);
  date.setUTCHours(0, 0, 0, 0);
  if (interval === 'week') while (date.getUTCDay() !== 1) date.setUTCDate(date.getUTCDate() - 1);
  if (interval === 'month' || interval === 'quarter' || interval === 'year') date.setUTCDate(1);
  if (interval === 'quarter') while (date.getUTCMonth() % 3 !== 0) date.setUTCMonth(date.getUTCMonth() - 1);
  if (interval === 'year') date.setUTCMonth(0);
  return date;
};

const nextOf = (start: Date, interval: NaiveInterval): Date => {
  const next = new Date(start);
  if (interval === 'day') next.setUTCDate(next.getUTCDate() + 1);
  if (interval === 'week') next.setUTCDate(next.getUTCDate() + 7);
  if (interval === 'month') next.setUTCMonth(next.getUTCMonth() + 1);
  if (interval === 'quarter') next.setUTCMonth(next.getUTCMonth() + 3);
  if (interval === 'year') next.setUTCFullYear(next.getUTCFullYear() + 1);
  return next;
};

const isEmpty = ({ metrics }: ReturnType<typeof naiveCount>): boolean =>
  metrics.reports + metrics.newThreats + metrics.threatsWatchlisted + metrics.takedownsFiled === 0;

interface Dated {
  readonly state: State;
  readonly instants: readonly number[];
}

const dated = (states: readonly State[]): Dated[] =>
  states.map((state) => ({
    state,
    instants: [state.data['createdAt'], state.data['updatedAt']].map((text) => Date.parse(text)),
  }));

/** The states that may count between two instants. This is the only optimisation. */
const within = (states: readonly Dated[], from: number, to: number): Dated[] =>
  states.filter(({ instants }) => instants.some((instant) => instant >= from && instant <= to));

const countWithin = (states: readonly Dated[], query: Query) =>
  naiveCount(
    within(states, query.from, query.to).map(({ state }) => state),
    query,
  );

/** The start of a range without a start: the interval of the first counted instant. */
export const naiveStart = (states: readonly State[], query: Query, interval: NaiveInterval): number => {
  const all = dated(states);
  const instants = all
    .flatMap((one) => one.instants)
    .filter((instant) => instant >= query.from && instant <= query.to)
    .sort((a, b) => a - b);
  const first = instants.find((at) => !isEmpty(countWithin(all, { ...query, from: at, to: at })));
  return startOf(first ?? query.to, interval).getTime();
};

/** @returns the points, or undefined if there are more than `most` */
export const naiveTimeline = (states: readonly State[], query: Query, interval: NaiveInterval, maxPoints: number) => {
  const points = [];
  const ofRange = within(dated(states), query.from, query.to);
  for (let start = startOf(query.from, interval); start.getTime() <= query.to; start = nextOf(start, interval)) {
    if (points.length === maxPoints) return undefined;
    const from = Math.max(start.getTime(), query.from);
    const to = Math.min(nextOf(start, interval).getTime() - 1, query.to);
    const { metrics, blockedByType } = countWithin(ofRange, { ...query, from, to });
    points.push({
      start: new Date(from).toISOString(),
      end: new Date(to).toISOString(),
      reports: metrics.reports,
      newThreats: metrics.newThreats,
      threatsWatchlisted: metrics.threatsWatchlisted,
      takedownsFiled: metrics.takedownsFiled,
      takedownsCompleted: metrics.takedownsCompleted,
      byType: Object.fromEntries(blockedByType.map(({ type, count }) => [type, count])),
    });
  }
  return points;
};

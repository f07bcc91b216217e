import type { Query, State } from '../support/naive-count.js';

/** A naive implementation of the takedown statistics, which checks all takedowns for each number. */

const rank = (times: readonly number[], share: number): number | null =>
  times.length === 0 ? null : [...times].sort((a, b) => a - b)[Math.ceil(share * times.length) - 1]!;

const timesOf = (takedowns: readonly State[]) => {
  const times = takedowns
    .map(({ data }) => Date.parse(data['updatedAt']) - Date.parse(data['createdAt']))
    .filter((time) => time >= 0);
  return {
    count: takedowns.length,
    median: rank(times, 0.5),
    p90: rank(times, 0.9),
    p99: rank(times, 0.99),
    longest: rank(times, 1),
  };
};

export const naiveTakedowns = (states: readonly State[], { organization, brand, from, to }: Query) => {
  const isIn = (text: string): boolean => Date.parse(text) >= from && Date.parse(text) <= to;
  const all = states.filter(
    ({ type, data }) =>
      type.startsWith('Takedown') &&
      data['organization'] === organization &&
      (brand === undefined || data['brand'] === brand),
  );
  const filed = all.filter(({ data }) => isIn(brand === undefined ? data['createdAt'] : data['updatedAt']));
  const filedWithStatus = (status: string): number => filed.filter(({ data }) => data['status'] === status).length;
  const [completed, canceled, retracted] = [
    filedWithStatus('COMPLETED'),
    filedWithStatus('CANCELED'),
    filedWithStatus('RETRACTED'),
  ];
  const completedInRange = all.filter(({ data }) => data['status'] === 'COMPLETED' && isIn(data['updatedAt']));
  const types = [...new Set(completedInRange.map(({ data }) => data['asset'].type as string))];
  return {
    filed: filed.length,
    completed,
    open: filed.length - completed - canceled - retracted,
    canceled,
    retracted,
    completionRate: filed.length === 0 ? null : completed / filed.length,
    timeToTakedown: {
      ...timesOf(completedInRange),
      byType: types
        .map((type) => ({ type, ...timesOf(completedInRange.filter(({ data }) => data['asset'].type === type)) }))
        .sort((a, b) => b.count - a.count || (a.type < b.type ? -1 : 1)),
    },
  };
};

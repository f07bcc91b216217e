import { dateOf, MS_PER_DAY, queryOf } from '../range.js';
import { day, days } from '../words.js';

const section = document.getElementById('newest');
const sentence = section.querySelector('span');
const link = section.querySelector('a');

let choice;

const PATH = 'organization/metrics/timeline';

const lastCounted = ({ points }, metrics) => points.findLast((point) => metrics.some(({ key }) => point[key] > 0));

/**
 * Finds the newest day with a count of one of these metrics, first by year and then by day; undefined if nothing was ever
 * counted.
 */
export const newestDay = async (api, { brandSlug }, metrics, signal) => {
  const year = lastCounted((await api.get(PATH, { brandSlug, interval: 'year' }, signal)).body, metrics);
  if (year === undefined) return undefined;
  const [startDate, endDate] = [year.start, year.end].map((instant) => instant.slice(0, 10));
  const { body } = await api.get(PATH, { brandSlug, interval: 'day', startDate, endDate }, signal);
  return lastCounted(body, metrics)?.start.slice(0, 10);
};

/** Returns a range that is as long as the range of the filters and ends on the given day. */
const daysUpTo = (lastDay, filters) => {
  const { startDate, endDate = dateOf(Date.now()) } = queryOf(filters);
  const length = Date.parse(endDate) - Date.parse(startDate);
  const first = Math.max(0, Date.parse(lastDay) - Math.round(length / MS_PER_DAY) * MS_PER_DAY);
  return [dateOf(first), lastDay];
};

/** Shows the newest data if the range has none and nobody has chosen the range; otherwise offers a link to the data. */
export const offerNewest = (lastDay, filters) => {
  section.hidden = lastDay === undefined && !filters.isNewest;
  link.hidden = filters.isNewest === true;
  if (filters.isNewest) sentence.textContent = 'Newer days have no data, so the newest days with data are shown.';
  if (lastDay === undefined) return;
  const [startDate, endDate] = daysUpTo(lastDay, filters);
  if (!choice.isChosen()) return choice.showNewest(startDate, endDate);
  const { brandSlug = '' } = filters;
  sentence.textContent = `The newest data is from ${day(lastDay)}.`;
  link.textContent = `Show ${days(startDate, endDate)}`;
  link.href = `?${new URLSearchParams({ range: 'custom', startDate, endDate, ...(brandSlug && { brandSlug }) })}`;
};

/** @param filters as of `startFilters` */
export const startNewest = (filters) => {
  choice = filters;
};

import { dateOf, MS_PER_DAY } from '../range.js';
import { pathOf } from '../records-dialog/record-lists.js';
import { fillTable, recordLink } from '../table.js';
import { counted, day, spoken, time } from '../words.js';

export const section = document.getElementById('recent');
/** Maximum number of records that are shown, and that are requested of each list. */
const MAX_ROWS = 10;

/** The lists, with the noun of each. */
const LISTS = { threats: 'Threat', takedowns: 'Takedown', disputes: 'Dispute', reports: 'Report' };
/** The metrics, with the noun of each. */
const METRICS = { newThreats: 'new threat', reports: 'report', takedownsFiled: 'filed takedown' };

let shown;
let bodies = [];

/** Loads the counts and the newest records of yesterday and today, of the whole organization. */
export const load = async (api, _filters, signal) => {
  const startDate = dateOf(Date.now() - MS_PER_DAY);
  const answers = await Promise.all([
    api.get('organization/metrics', { startDate }, signal),
    ...Object.keys(LISTS).map((list) => api.get(pathOf(list), { startDate, limit: MAX_ROWS }, signal)),
  ]);
  // While no response has changed, the same object is returned, so that the panel is not drawn again.
  if (shown?.startDate !== startDate || answers.some(({ body }, index) => body !== bodies[index])) {
    bodies = answers.map(({ body }) => body);
    const [{ metrics }, ...lists] = bodies;
    shown = { startDate, metrics, lists };
  }
  return { body: shown, asOf: answers[0].asOf };
};

const wordsFor = ({ startDate, metrics, lists }) => {
  const since = `Since ${day(startDate)}, 00:00 UTC`;
  if (lists.every(({ items }) => items.length === 0))
    return `${since}, nothing new has been recorded. Older records are in the lists above; the figures are below.`;
  return `${since}: ${Object.entries(METRICS)
    .map(([key, noun]) => counted(metrics[key], noun))
    .join(', ')}. The newest records:`;
};

export const show = ({ body }) => {
  section.querySelector('.summary').textContent = wordsFor(body);
  const rows = body.lists
    .flatMap(({ items }, index) => items.map((item) => [Object.keys(LISTS)[index], item]))
    .sort(([, one], [, other]) => (one.createdAt < other.createdAt ? 1 : -1))
    .slice(0, MAX_ROWS)
    .map(([list, { id, asset, status, createdAt }]) => [
      recordLink(list, id, asset?.content ?? id),
      LISTS[list],
      status && spoken(status),
      time(createdAt),
    ]);
  fillTable(section.querySelector('.table'), ['Asset or id', 'Kind', 'Status', 'Created'], rows);
};

export const nothing = { startDate: '1970-01-01', metrics: {}, lists: [] };

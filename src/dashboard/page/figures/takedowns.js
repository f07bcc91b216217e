import { drawBars } from './bars.js';
import { csvOf } from '../csv.js';
import { queryOf, RANGES } from '../range.js';
import { fillTable, rightAligned } from '../table.js';
import { fillCounts, opener } from '../records-dialog/records-dialog.js';
import { counted, duration, number, share } from '../words.js';

export const section = document.getElementById('takedowns');
const canvas = section.querySelector('canvas');
const [outcomes, times] = section.querySelectorAll('details');

const OUTCOMES = [
  ['filed', 'Filed', 'first', 'takedownsFiled'],
  ['completed', 'Completed', 'third', 'takedownsCompleted'],
  ['open', 'Open', 'second', 'takedownsOpen'],
  ['canceled', 'Canceled', 'other', 'takedownsCanceled'],
  ['retracted', 'Retracted', 'other', 'takedownsRetracted'],
];
const OUTCOME_COLUMNS = ['Outcome', 'Takedowns'];
const TIMES = ['median', 'p90', 'p99', 'longest'];

export const load = (api, filters, signal) => api.get('organization/takedowns/statistics', queryOf(filters), signal);

const outcomeWords = ({ filed, completed, completionRate }, which) =>
  filed === 0
    ? `No takedowns were ${which} in this range.`
    : `Completed so far: ${number(completed)} (${share(completionRate)}) of the ${counted(filed, 'takedown')} ${which} in this range.`;

const timeWords = ({ count, median, p90 }) => {
  if (count === 0) return 'No takedowns were completed in this range.';
  if (count === 1)
    return `Completed in this range, including takedowns filed earlier: 1, which took ${duration(median)}.`;
  const times = `half of them took at most ${duration(median)}, nine in ten at most ${duration(p90)}`;
  return `Completed in this range, including takedowns filed earlier: ${number(count)}; ${times}.`;
};

/**
 * Returns the summary. The two sentences have different numbers, because a takedown can be filed in one range and
 * completed in another range.
 */
const wordsFor = (statistics, { brandSlug }) =>
  `${outcomeWords(statistics, brandSlug ? 'last changed' : 'filed')} ${timeWords(statistics.timeToTakedown)}`;

const showTimes = ({ byType, ...all }) => {
  const rows = [{ type: 'All types', ...all }, ...byType];
  const inMs = () =>
    csvOf(
      ['type', 'count', ...TIMES.map((name) => `${name}Ms`)],
      rows.map((row) => [row.type, row.count, ...TIMES.map((name) => row[name])]),
    );
  times.hidden = all.count === 0;
  fillTable(
    times,
    ['Type', 'Completed', 'Median', '90 %', '99 %', 'Longest'],
    rows.map((row) => [row.type, row.count, ...TIMES.map((name) => rightAligned(duration(row[name])))]),
    { name: 'times-to-takedown', text: inMs },
  );
};

export const show = ({ body }, filters) => {
  const words = wordsFor(body, filters);
  section.querySelector('.summary').textContent = words;
  const openerOf = (metric, n, name) =>
    opener(metric, n, `Takedowns: ${name.toLowerCase()}`, queryOf(filters), RANGES[filters.range].name);
  const bars = OUTCOMES.map(([key, name, colour, metric]) => [
    name,
    body[key],
    colour,
    body[key] > 0 ? openerOf(metric, body[key], name) : undefined,
  ]);
  const label = `Takedowns by outcome: ${words} Every number is in the table below.`;
  drawBars(canvas, label, body.filed === 0 ? [] : bars);
  outcomes.hidden = body.filed === 0;
  const entries = bars.map(([name, n, , onOpen]) => [name, n, onOpen]);
  fillCounts(outcomes, OUTCOME_COLUMNS, entries, 'takedowns');
  showTimes(body.timeToTakedown);
};

export const nothing = {
  filed: 0,
  timeToTakedown: { count: 0, median: null, p90: null, p99: null, longest: null, byType: [] },
};

import { drawBars } from './bars.js';
import { csvOf } from '../csv.js';
import { queryOf } from '../range.js';
import { fillTable, rightAligned } from '../table.js';
import { fillCounts, openerFor } from '../records-dialog/records-dialog.js';
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
  const rows = all.count === 0 ? [] : [{ type: 'All types', ...all }, ...byType];
  const inMs = () =>
    csvOf(
      ['type', 'count', ...TIMES.map((name) => `${name}Ms`)],
      rows.map((row) => [row.type, row.count, ...TIMES.map((name) => row[name])]),
    );
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
  const openerOf = openerFor(filters);
  const shown = body.filed === 0 ? [] : OUTCOMES;
  const bars = shown.map(([key, name, colour, metric]) => [
    name,
    body[key],
    openerOf(metric, body[key], `Takedowns: ${name.toLowerCase()}`),
    colour,
  ]);
  const label = `Takedowns by outcome: ${words} Every number is in the table below.`;
  drawBars(canvas, label, bars);
  fillCounts(outcomes, OUTCOME_COLUMNS, bars, 'takedowns');
  showTimes(body.timeToTakedown);
};

export const nothing = { filed: 0, timeToTakedown: { count: 0, byType: [] } };

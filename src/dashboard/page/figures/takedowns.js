import { drawBars } from './bars.js';
import { queryOf } from '../range.js';
import { codeCell, durationCell, fillTable } from '../table.js';
import { fillCounts, openerFor, outcomeEntries } from '../records-dialog/records-dialog.js';
import { counted, duration, number, share } from '../words.js';

export const section = document.getElementById('takedowns');
const canvas = section.querySelector('canvas');
const [outcomes, times] = section.querySelectorAll('details');

const OUTCOMES = [
  ['filed', 'Filed', 'takedownsFiled', 'first'],
  ['completed', 'Completed', 'takedownsCompleted', 'third'],
  ['open', 'Open', 'takedownsOpen', 'second'],
  ['canceled', 'Canceled', 'takedownsCanceled', 'other'],
  ['retracted', 'Retracted', 'takedownsRetracted', 'other'],
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
  const cellOf = ({ type, count, ...row }) => [
    codeCell(type) ?? 'All types',
    count,
    ...TIMES.map((name) => durationCell(row[name])),
  ];
  const rows = (all.count === 0 ? [] : [all, ...byType]).map(cellOf);
  fillTable(times, ['Type', 'Completed', 'Median', '90 %', '99 %', 'Longest'], rows, { name: 'times-to-takedown' });
};

export const show = ({ body }, filters) => {
  const words = wordsFor(body, filters);
  section.querySelector('.summary').textContent = words;
  const bars = outcomeEntries(body.filed === 0 ? [] : OUTCOMES, body, openerFor(filters), 'Takedowns');
  const label = `Takedowns by outcome: ${words} Every number is in the table below.`;
  drawBars(canvas, label, bars);
  fillCounts(outcomes, OUTCOME_COLUMNS, bars, 'takedowns');
  showTimes(body.timeToTakedown);
};

export const nothing = { filed: 0, timeToTakedown: { count: 0, byType: [] } };

import { drawBars } from './bars.js';
import { fillCounts, openerFor } from '../records-dialog/records-dialog.js';
import { number, share, spoken } from '../words.js';

export const section = document.getElementById('types');
const canvas = section.querySelector('canvas');
const table = section.querySelector('details');
/** Maximum number of bars in the chart. The table has all types. */
const MAX_BARS = 10;
const COLUMNS = ['Type', 'Blocked'];

/** Returns the counts by type, ordered by count (highest first) and then by name, as in the metrics. */
const countsOf = (points) => {
  const counts = new Map();
  for (const { byType } of points)
    for (const [type, n] of Object.entries(byType)) counts.set(type, (counts.get(type) ?? 0) + n);
  return [...counts].sort(([a, n], [b, m]) => m - n || (a < b ? -1 : 1));
};

const wordsFor = (counts) => {
  if (counts.length === 0) return 'No threats were blocked in this range.';
  const total = counts.reduce((sum, [, n]) => sum + n, 0);
  const [[type, highest]] = counts;
  const listed = counts.length > MAX_BARS ? ` The chart shows the ${MAX_BARS} most frequent of ${counts.length}.` : '';
  if (counts.length === 1) return `All ${number(total)} are of type ${spoken(type)}.`;
  return `${number(highest)} of ${number(total)} (${share(highest / total)}) are of type ${spoken(type)}.${listed}`;
};

export const show = ({ points }, filters) => {
  const counts = countsOf(points);
  const openerOf = (type, n) =>
    openerFor(filters, { assetType: type })('newThreats', n, `New threats of type ${spoken(type)}`);
  const words = wordsFor(counts);
  section.querySelector('.summary').textContent = words;
  const bars = counts.map(([type, n]) => [spoken(type), n, openerOf(type, n)]);
  drawBars(canvas, `Blocked threats by type: ${words} Every number is in the table below.`, bars.slice(0, MAX_BARS));
  fillCounts(table, COLUMNS, bars, 'blocked-by-type');
};

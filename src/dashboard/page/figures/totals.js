import { draw } from './chart-drawing.js';
import { newestDay, offerNewest } from './newest.js';
import { RANGES, queryOf } from '../range.js';
import { element } from '../table.js';
import { countCell, openRestated, openerFor } from '../records-dialog/records-dialog.js';
import { change, number, pointName, time } from '../words.js';

/** What a rise and a fall mean: `good`, `attention` or `plain`. */
const [THREATENING, WORK, SUCCESS] = ['attention plain', 'plain plain', 'good attention'];
/** The metrics, with a `short` name for tables if it differs. */
export const METRICS = [
  { key: 'newThreats', name: 'New threats blocked', short: 'New threats', meanings: THREATENING },
  { key: 'reports', name: 'Reports filed', short: 'Reports', meanings: THREATENING },
  { key: 'threatsWatchlisted', name: 'Threats on the watchlist', short: 'Watchlisted', meanings: THREATENING },
  { key: 'takedownsFiled', name: 'Takedowns filed', meanings: WORK },
  { key: 'takedownsCompleted', name: 'Takedowns completed', meanings: SUCCESS },
];
/** Notes on what a metric counts in a range, and for a brand. */
const IN_RANGE = { takedownsCompleted: 'of the takedowns filed in this range' };
const CHANGED = 'last changed in this range';
const OF_BRAND = { threatsWatchlisted: 'not counted by brand', takedownsFiled: CHANGED, takedownsCompleted: CHANGED };
/** The keys and the short names of the metrics, which are the columns of tables. */
export const COLUMNS = METRICS.map(({ key, name, short = name }) => [key, short]);
export const section = document.getElementById('totals');

const restated = document.getElementById('restated');

const countsOf = (body) => (body.then ?? body.current ?? body).metrics;
const isEmpty = (body) => METRICS.every(({ key }) => countsOf(body)[key] === 0);

/**
 * Loads the metrics, with a comparison unless the range is `all`. That range has no earlier range to compare with, and
 * no newer data.
 */
export const load = async (api, filters, signal) => {
  if (filters.knownAt !== undefined)
    return api.get('organization/metrics/restatement', { ...queryOf(filters), from: filters.knownAt }, signal);
  if (filters.range === 'all') return api.get('organization/metrics', queryOf(filters), signal);
  const answer = await api.get('organization/metrics/comparison', { ...queryOf(filters), with: 'previous' }, signal);
  if (!isEmpty(answer.body)) return answer;
  return { ...answer, body: { ...answer.body, newest: await newestDay(api, filters, METRICS, signal) } };
};

const wordsFor = (body, { range, brandSlug, knownAt }) => {
  const { name, before } = RANGES[range];
  if (body.then !== undefined)
    return (
      `As known on ${time(knownAt)}, counted in ${name}${before === undefined || range === 'custom' ? '' : ' up to then'}` +
      `${brandSlug ? ' for this brand' : ''}. ${isEmpty(body) ? 'Nothing had been counted. ' : ''}` +
      'Changes are what became known since.'
    );
  const what = isEmpty(body)
    ? `Nothing has been counted for ${brandSlug ? 'this brand' : 'your organization'} in ${name}.`
    : `${before === undefined ? 'Everything counted so far' : `Counted in ${name}`}${brandSlug ? ' for this brand' : ''}.`;
  return before === undefined ? what : `${what} Changes are relative to ${before}.`;
};

const changeOf = (difference, ratio, meanings) => {
  if (difference === 0) return element('dd', 'no change', { class: 'change quiet' });
  const { isRise, signs, words } = change(difference, ratio);
  const meaning = meanings.split(' ')[isRise ? 0 : 1];
  const spoken = meaning === 'plain' ? words : `${words}, ${meaning === 'good' ? 'which is good' : 'needs attention'}`;
  const parts = [element('span', signs, { 'aria-hidden': 'true' }), element('span', spoken, { class: 'unseen' })];
  return element('dd', parts, { class: `change ${meaning}` });
};

/** The canvases are kept, so that a chart is updated instead of drawn again. */
const trends = new Map(
  METRICS.map(({ key, name }) => {
    const canvas = element('canvas', [], { role: 'img', 'aria-label': `Trend: ${name}` });
    return [key, element('dd', canvas, { class: 'chart trend', hidden: '' })];
  }),
);

const itemOf = ({ key, name, meanings }, body, filters) => {
  const { range, brandSlug } = filters;
  const n = countsOf(body)[key];
  // The lists have only the present records.
  const onOpen = body.then === undefined ? openerFor(filters)(key, n, name) : undefined;
  const figure = onOpen === undefined ? number(n) : countCell(n, name, onOpen);
  const parts = [element('dt', name), element('dd', figure, { class: 'figure' })];
  if (body.then !== undefined) parts.push(changeOf(body.difference.metrics[key], undefined, meanings));
  else if (body.difference !== undefined) parts.push(changeOf(body.difference[key], body.ratio[key], meanings));
  const note = brandSlug ? OF_BRAND[key] : range !== 'all' && IN_RANGE[key];
  if (note) parts.push(element('dd', note, { class: 'note quiet' }));
  if (body.then === undefined) parts.push(trends.get(key));
  else parts.push(element('dd', `${number(body.now.metrics[key])} now`, { class: 'note quiet' }));
  return element('div', parts, { class: 'card', 'data-metric': key });
};

/** Draws the trend of each total from the timeline of the same range. A trend of zeros is hidden. */
export const showTrends = ({ points, interval }) => {
  for (const { key, name } of METRICS) {
    const part = trends.get(key);
    part.hidden = points.length < 2 || points.every((point) => point[key] === 0);
    if (part.hidden) continue;
    draw(part.firstChild, `Trend: ${name} per ${interval}. Every number is in the table over time.`, (colour) => ({
      labels: points.map((point) => pointName(interval, point)),
      bars: { data: points.map((point) => point[key]), backgroundColor: colour('first') },
      interaction: { mode: 'index', intersect: false },
      layout: { autoPadding: false, padding: 2 },
      scales: { x: { display: false }, y: { display: false, beginAtZero: true } },
    }));
  }
};

export const show = ({ body }, filters) => {
  section.querySelector('.summary').textContent = wordsFor(body, filters);
  offerNewest(body.newest, filters);
  restated.hidden = body.then === undefined;
  restated.onclick = () => openRestated({ ...queryOf(filters), from: filters.knownAt }, RANGES[filters.range].name);
  const known = METRICS.filter(({ key }) => countsOf(body)[key] !== undefined);
  section.querySelector('dl').replaceChildren(...known.map((metric) => itemOf(metric, body, filters)));
};

export const nothing = { metrics: {} };

import { newestDay, offerNewest } from './newest.js';
import { RANGES, queryOf } from '../range.js';
import { element } from '../table.js';
import { countButton, opener } from '../records-dialog/records-dialog.js';
import { change, number } from '../words.js';

/** The metrics and their names, with notes on what is counted in a range (`inRange`) and for a brand (`ofBrand`). */
const METRICS = [
  ['newThreats', 'New threats blocked'],
  ['reports', 'Reports filed'],
  ['threatsWatchlisted', 'Threats on the watchlist', { ofBrand: 'not counted by brand' }],
  ['takedownsFiled', 'Takedowns filed', { ofBrand: 'last changed in this range' }],
  [
    'takedownsCompleted',
    'Takedowns completed',
    { inRange: 'of the takedowns filed in this range', ofBrand: 'last changed in this range' },
  ],
];
const section = document.getElementById('totals');

const countsOf = (body) => (body.current ?? body).metrics;
const isEmpty = (body) => METRICS.every(([key]) => countsOf(body)[key] === 0);

/**
 * Loads the metrics, with a comparison unless the range is `all`. That range has no earlier range to compare with, and
 * no newer data.
 */
export const load = async (api, filters, signal) => {
  if (filters.range === 'all') return api.get('organization/metrics', queryOf(filters), signal);
  const answer = await api.get('organization/metrics/comparison', { ...queryOf(filters), with: 'previous' }, signal);
  if (!isEmpty(answer.body)) return answer;
  return { ...answer, body: { ...answer.body, newest: await newestDay(api, filters, signal) } };
};

const wordsFor = (body, { range, brandSlug }) => {
  const { name, before } = RANGES[range];
  const what = isEmpty(body)
    ? `Nothing has been counted for ${brandSlug ? 'this brand' : 'your organization'} in ${name}.`
    : `${before === undefined ? 'Everything counted so far' : `Counted in ${name}`}${brandSlug ? ' for this brand' : ''}.`;
  return before === undefined ? what : `${what} Changes are relative to ${before}.`;
};

const changeOf = (difference, ratio) => {
  if (difference === 0) return element('dd', 'no change', { class: 'change quiet' });
  const { direction, signs, words } = change(difference, ratio);
  const item = element('dd', '', { class: `change ${direction}` });
  item.append(element('span', signs, { 'aria-hidden': 'true' }), element('span', words, { class: 'unseen' }));
  return item;
};

const itemOf = ([key, name, notes = {}], body, filters) => {
  const { range, brandSlug } = filters;
  const item = element('div', '', { class: 'card', 'data-metric': key });
  const figure = element('dd', '', { class: 'figure' });
  const n = countsOf(body)[key];
  figure.append(countButton(n, name, opener(key, n, name, queryOf(filters), RANGES[range].name)) ?? number(n));
  item.append(element('dt', name), figure);
  const note = brandSlug ? notes.ofBrand : range !== 'all' && notes.inRange;
  if (note) item.append(element('dd', note, { class: 'note quiet' }));
  if (body.difference !== undefined) item.append(changeOf(body.difference[key], body.ratio[key]));
  return item;
};

export const show = ({ body }, filters) => {
  section.querySelector('.summary').textContent = wordsFor(body, filters);
  offerNewest(body.newest, filters);
  section.querySelector('dl').replaceChildren(...METRICS.map((metric) => itemOf(metric, body, filters)));
};

export const clear = () => {
  section.querySelector('.summary').textContent = 'Not available.';
  offerNewest();
  section.querySelector('dl').replaceChildren();
};

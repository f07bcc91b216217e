import { RANGES, queryOf } from './range.js';
import { element } from './table.js';
import { change, number } from './words.js';

const METRICS = [
  ['newThreats', 'New threats blocked'],
  ['reports', 'Reports filed'],
  ['threatsWatchlisted', 'Threats on the watchlist'],
  ['takedownsFiled', 'Takedowns filed'],
  ['takedownsCompleted', 'Takedowns completed'],
];
const place = document.getElementById('totals');

/** All time has no earlier range to compare with. */
export const load = (api, question, signal) =>
  question.range === 'all'
    ? api.get('organization/metrics', queryOf(question), signal)
    : api.get('organization/metrics/comparison', { ...queryOf(question), with: 'previous' }, signal);

const wordsFor = (metrics, { range, brandSlug }) => {
  const { name, before } = RANGES[range];
  const isEmpty = METRICS.every(([key]) => metrics[key] === 0);
  const what = isEmpty
    ? `Nothing has been counted for ${brandSlug ? 'this brand' : 'your organization'} in ${name}.`
    : `${before === undefined ? 'Everything counted so far' : `Counted in ${name}`}${brandSlug ? ' for this brand' : ''}.`;
  return before === undefined ? what : `${what} Changes are relative to ${before}.`;
};

const itemOf = ([key, name], { current, difference, ratio }) => {
  const item = element('div', '', { class: 'card', 'data-metric': key });
  item.append(element('dt', name), element('dd', number(current[key]), { class: 'figure' }));
  if (difference !== undefined)
    item.append(element('dd', change(difference[key], ratio[key]), { class: 'change quiet' }));
  return item;
};

export const show = ({ body }, question) => {
  const compared = 'current' in body ? { ...body, current: body.current.metrics } : { current: body.metrics };
  place.querySelector('.summary').textContent = wordsFor(compared.current, question);
  place.querySelector('dl').replaceChildren(...METRICS.map((metric) => itemOf(metric, compared)));
};

export const clear = () => {
  place.querySelector('.summary').textContent = 'No figures.';
  place.querySelector('dl').replaceChildren();
};

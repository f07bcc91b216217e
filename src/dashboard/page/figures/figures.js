import * as brands from '../organization/brands.js';
import { disputes, groups, webhooks } from '../organization/list-panels.js';
import * as openTakedowns from '../organization/open-takedowns.js';
import * as recent from '../organization/recent.js';
import * as brandTable from './brand-table.js';
import * as falsePositives from './false-positives.js';
import * as overTime from './over-time.js';
import * as takedowns from './takedowns.js';
import * as totals from './totals.js';

/**
 * The panels that depend on the filters, and the panels that depend only on the key. Each panel loads its own data, so
 * that one failure does not affect the other panels.
 */
const FILTER_PANELS = [totals, overTime, brandTable, takedowns, falsePositives];
const KEY_PANELS = [recent, openTakedowns, disputes, groups, brands, webhooks];
const PANELS = [...FILTER_PANELS, ...KEY_PANELS];

/** What is shown, by panel: the response, and the filters as a text. */
const shown = new Map();

/** Whether two bodies are the same object, or arrays of the same objects: a panel may show several responses. */
const isSame = (one, other) => {
  const [parts, others] = [[one].flat(), [other].flat()];
  return parts.length === others.length && parts.every((part, index) => part === others[index]);
};

/** An unchanged response is not drawn again. */
const showPanel = (panel, answer, filters, key) => {
  const last = shown.get(panel);
  if (last?.key === key && isSame(last.body, answer.body)) return;
  panel.show(answer, filters);
  shown.set(panel, { key, body: answer.body });
};

/** Clears a panel. Without this, figures for other filters could be mistaken for figures for the current filters. */
const clearPanel = (panel) => {
  panel.show({ body: panel.nothing }, { range: 'all' });
  for (const section of [panel.section ?? []].flat()) section.querySelector('.summary').textContent = 'Not available.';
  shown.delete(panel);
};

/**
 * Loads and shows all panels.
 * @returns `{ asOf, failures }`: the oldest as-of instant of the loaded panels, and the failures
 */
export const loadFigures = async (api, filters, signal) => {
  const filtersKey = JSON.stringify(filters);
  const outcomes = await Promise.allSettled(PANELS.map((panel) => panel.load(api, filters, signal)));
  signal.throwIfAborted();
  outcomes.forEach(({ status, value }, index) => {
    const panel = PANELS[index];
    const key = KEY_PANELS.includes(panel) ? '' : filtersKey;
    if (status === 'fulfilled') showPanel(panel, value, filters, key);
    else if (shown.get(panel)?.key !== key) clearPanel(panel);
  });
  const moments = outcomes.flatMap(({ value }) => value?.asOf ?? []);
  return {
    asOf: moments.toSorted((a, b) => (a < b ? -1 : 1))[0],
    failures: outcomes.flatMap(({ reason }) => reason ?? []),
  };
};

/** Removes all figures, because the user of the next key must not see them. */
export const clearFigures = () => PANELS.forEach(clearPanel);

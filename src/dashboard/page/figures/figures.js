import * as brands from '../organization/brands.js';
import * as disputes from '../organization/disputes.js';
import * as groups from '../organization/groups.js';
import * as organization from '../organization/organization.js';
import * as recent from '../organization/recent.js';
import * as falsePositives from './false-positives.js';
import * as overTime from './over-time.js';
import * as takedowns from './takedowns.js';
import * as totals from './totals.js';
import * as webhooks from '../organization/webhooks.js';

/**
 * The panels that depend on the filters, and the panels that depend only on the key. Each panel loads its own data, so
 * that one failure does not affect the other panels.
 */
const FILTER_PANELS = [totals, overTime, takedowns, falsePositives];
const KEY_PANELS = [organization, recent, disputes, groups, brands, webhooks];
const PANELS = [...FILTER_PANELS, ...KEY_PANELS];

/** The filters of the figures that are shown, by panel. */
const shownFor = new Map();
/** The response that is shown, by panel. An unchanged response is not drawn again. */
const shownBody = new Map();

const showPanel = (panel, answer, filters, key) => {
  if (shownFor.get(panel) === key && shownBody.get(panel) === answer.body) return;
  panel.show(answer, filters);
  shownFor.set(panel, key);
  shownBody.set(panel, answer.body);
};

/**
 * Clears a panel, which shows `nothing` or clears itself. Without this, figures for other filters could be mistaken for
 * figures for the current filters.
 */
const clearPanel = (panel) => {
  if (panel.nothing === undefined) panel.clear();
  else {
    panel.show({ body: panel.nothing }, { range: 'all' });
    panel.section.querySelector('.summary').textContent = 'Not available.';
  }
  shownFor.delete(panel);
  shownBody.delete(panel);
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
    else if (shownFor.get(panel) !== key) clearPanel(panel);
  });
  const moments = outcomes.flatMap(({ value }) => value?.asOf ?? []);
  return {
    asOf: moments.toSorted((a, b) => (a < b ? -1 : 1))[0],
    failures: outcomes.flatMap(({ reason }) => reason ?? []),
  };
};

/** Removes all figures, because the user of the next key must not see them. */
export const clearFigures = () => PANELS.forEach(clearPanel);

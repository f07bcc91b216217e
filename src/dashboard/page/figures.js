import * as brands from './brands.js';
import * as groups from './groups.js';
import * as organization from './organization.js';
import * as overTime from './over-time.js';
import * as takedowns from './takedowns.js';
import * as totals from './totals.js';

/** Each loads what it shows by itself, so that one failure leaves the others standing. */
const OF_THE_QUESTION = [totals, overTime, takedowns];
const OF_THE_KEY = [organization, groups, brands];
const PANELS = [...OF_THE_QUESTION, ...OF_THE_KEY];

/** Which question each panel shows the answer of. */
const shownFor = new Map();
/** The answer each panel shows; while it stays the same nothing is drawn again. */
const shownBody = new Map();

const showPanel = (panel, answer, question, key) => {
  if (shownFor.get(panel) === key && shownBody.get(panel) === answer.body) return;
  panel.show(answer, question);
  shownFor.set(panel, key);
  shownBody.set(panel, answer.body);
};

/** Figures of another question would be read as the answer of this one. */
const clearPanel = (panel) => {
  panel.clear();
  shownFor.delete(panel);
  shownBody.delete(panel);
};

/**
 * Asks for everything and shows it.
 * @returns `{ asOf, failures }`: the oldest moment that is shown, and why something is not
 */
export const loadFigures = async (api, question, signal) => {
  const asked = JSON.stringify(question);
  const outcomes = await Promise.allSettled(PANELS.map((panel) => panel.load(api, question, signal)));
  signal.throwIfAborted();
  outcomes.forEach(({ status, value }, index) => {
    const panel = PANELS[index];
    const key = OF_THE_KEY.includes(panel) ? '' : asked;
    if (status === 'fulfilled') showPanel(panel, value, question, key);
    else if (shownFor.get(panel) !== key) clearPanel(panel);
  });
  const moments = outcomes.flatMap(({ value }) => value?.asOf ?? []);
  return {
    asOf: moments.toSorted((a, b) => (a < b ? -1 : 1))[0],
    failures: outcomes.flatMap(({ reason }) => reason ?? []),
  };
};

/** Nothing of one key's stays for the next. */
export const clearFigures = () => PANELS.forEach(clearPanel);

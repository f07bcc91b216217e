import { Api } from './api.js';
import * as check from './check.js';
import { clearFigures, loadFigures } from './figures/figures.js';
import { NO_KEY } from './failure.js';
import { forgetKey, keepKey, keptKey, readKey } from './key.js';
import { startLive } from './live.js';
import { startNewest } from './figures/newest.js';
import { announce, showProblem } from './problem.js';
import { startFilters } from './filters.js';
import { RANGES } from './range.js';
import * as recordDialog from './records-dialog/record-dialog.js';
import * as recordsDialog from './records-dialog/records-dialog.js';
import { time } from './words.js';

const REFRESH_INTERVAL_MS = 30_000;
const [signIn, figures, signOut, asOf] = ['sign-in', 'figures', 'sign-out', 'as-of'].map((id) =>
  document.getElementById(id),
);
const keyForm = document.getElementById('key-form');

let api;
let live;
let announced;
const filters = startFilters(() => live?.now());
startNewest(filters);

const showSignIn = (sentence) => {
  live?.stop();
  live = api = announced = undefined;
  forgetKey();
  clearFigures();
  check.clear();
  recordDialog.clear();
  recordsDialog.clear();
  asOf.textContent = '';
  signIn.hidden = false;
  figures.hidden = signOut.hidden = true;
  showProblem(sentence);
  keyForm.elements.key.focus();
};

/** @returns whether the key is no longer accepted, in which case the user is asked for another key */
const endOn401 = ({ status, message }) => {
  if (status === 401) showSignIn(message);
  return status === 401;
};

/** Shows the failures and when the figures are loaded again. @returns the delay in ms */
const waitAfter = (failures) => {
  const wait = Math.max(REFRESH_INTERVAL_MS, ...failures.map(({ retryAfter = 0 }) => retryAfter * 1_000));
  const sentences = [...new Set(failures.map(({ message }) => message))];
  showProblem(sentences.length === 0 ? '' : `${sentences.join(' ')} Retrying in ${wait / 1_000} seconds.`);
  return wait;
};

const refresh = async (signal) => {
  const currentFilters = filters.now();
  figures.setAttribute('aria-busy', 'true');
  try {
    const { asOf: moment, failures } = await loadFigures(api, currentFilters, signal);
    if (signal.aborted || failures.some(endOn401)) return REFRESH_INTERVAL_MS;
    if (moment !== undefined) asOf.textContent = `Data as of ${time(moment)}`;
    const { knownAt, range } = currentFilters;
    const name = RANGES[range].name + (knownAt ? `, with totals as known on ${time(knownAt)},` : '');
    if (failures.length === 0 && announced !== name) announce(`Figures of ${name} are shown`);
    announced = name;
    return waitAfter(failures);
  } catch (error) {
    if (signal.aborted) return REFRESH_INTERVAL_MS;
    reportError(error);
    showProblem('The figures cannot be shown because of an error in this page.');
    return REFRESH_INTERVAL_MS;
  } finally {
    if (!signal.aborted) figures.removeAttribute('aria-busy');
  }
};

const showFigures = (key) => {
  keepKey(key);
  api = new Api(key);
  signIn.hidden = true;
  figures.hidden = signOut.hidden = false;
  showProblem();
  live = startLive(refresh);
  void live.now();
  void recordDialog.openFromAddress();
};

keyForm.addEventListener('submit', (event) => {
  event.preventDefault();
  const key = readKey(keyForm.elements.key.value);
  keyForm.reset();
  if (key === undefined) return showSignIn(NO_KEY);
  showFigures(key);
  document.getElementById('main').focus();
});
signOut.addEventListener('click', () => {
  filters.forgetBrand();
  showSignIn();
  announce('You are signed out');
});
const apiNow = () => api;
check.startCheck(apiNow, endOn401, () => live.now());
recordsDialog.startRecordsDialog(apiNow, endOn401);
recordDialog.startRecordDialog(apiNow, endOn401);
document.getElementById('lists').addEventListener('click', ({ target }) => {
  const { list } = target.dataset;
  if (list !== undefined) recordsDialog.openAll(list, target.textContent);
});

if (keptKey() === undefined) showSignIn();
else showFigures(keptKey());

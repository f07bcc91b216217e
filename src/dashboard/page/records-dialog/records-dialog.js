import { save } from '../csv.js';
import { element, fillTable } from '../table.js';
import { COLUMNS, listOf } from './record-lists.js';
import { number, time } from '../words.js';

const place = document.getElementById('records-dialog');
const [title, summary, form, problem] = ['h2', '.summary', 'form', '[role=alert]'].map((each) =>
  place.querySelector(each),
);
const [table, scroll, more, saveButton, announcement] = ['.table', '.scroll', '.more', '.csv', '[role=status]'].map(
  (each) => place.querySelector(each),
);
const { content, assetType, status } = form.elements;

const ROWS_A_PAGE = 100;
/** Rows shown; the CSV has all of them. */
const MAX_ROWS = 4_000;
/** A whole table may take as long as the service lets it. ms */
const CSV_TIMEOUT_MS = 600_000;

let apiNow;
let onFailure;
/** What is listed: the number's name, its range and brand, the list. */
let asked;
let items = [];
let nextCursor;
let aborter;

const filters = () => ({
  ...(content.value.trim() && { content: content.value.trim() }),
  ...(assetType.value.trim() && { assetType: assetType.value.trim().toUpperCase() }),
});

/** The list's parameters; a chosen status narrows those that the number counts. */
const queryNow = () => ({ ...asked.query, ...filters(), status: status.value || asked.statuses?.join(',') });

const show = (asOf) => {
  const columns = COLUMNS[asked.list];
  const isCut = nextCursor !== undefined && items.length >= MAX_ROWS;
  fillTable(
    table,
    columns.map(([name]) => name),
    items.map((item) => columns.map(([, cell]) => cell(item))),
  );
  table.hidden = items.length === 0;
  more.hidden = nextCursor === undefined || isCut;
  const rest = isCut ? '; the CSV contains all records' : nextCursor === undefined ? '' : ' so far';
  const listed = items.length === 0 ? 'None' : `${number(items.length)} shown${rest}, newest first`;
  const brand = asked.query.brandSlug ? `, brand ${asked.query.brandSlug}` : '';
  announcement.textContent = summary.textContent = `${listed}. Range: ${asked.range}${brand}. As of ${time(asOf)}.`;
};

/** Shows the problem there is, instead of the one before, unless nobody waits for the answer any more. */
const attempt = async (work) => {
  const { signal } = aborter;
  problem.textContent = '';
  try {
    await work(signal);
  } catch (failure) {
    if (signal.aborted) return;
    const { message, retryAfter } = failure;
    problem.textContent = message + (retryAfter === undefined ? '' : ` Try again in ${retryAfter} seconds.`);
    if (onFailure(failure)) close();
  }
};

const loadPage = () => {
  aborter?.abort();
  aborter = new AbortController();
  return attempt(async (signal) => {
    const query = { ...queryNow(), limit: ROWS_A_PAGE, cursor: nextCursor };
    const { body, asOf } = await apiNow().get(`organization/${asked.list}`, query, signal);
    if (signal.aborted) return;
    const row = items.length;
    items = [...items, ...body.items];
    ({ nextCursor } = body);
    show(asOf);
    // Who pressed the button reads on where the new rows begin, and the button may be gone.
    if (row > 0) scroll.focus();
  });
};

const load = () => {
  items = [];
  nextCursor = undefined;
  return loadPage();
};

const close = () => place.close();

/** Shows which records a number counts. @param query the number's range and brand @param range its name */
const open = (metric, name, query, range) => {
  const { assetType: type = '', ...others } = query;
  asked = { ...listOf(metric, query.brandSlug), query: others, range };
  form.reset();
  form.hidden = asked.list === 'reports';
  assetType.value = type;
  status.replaceChildren(new Option('All statuses', ''), ...asked.choices.map((each) => new Option(each, each)));
  status.parentElement.hidden = asked.choices.length < 2;
  title.textContent = name;
  summary.textContent = 'Loading …';
  table.hidden = more.hidden = true;
  place.showModal();
  void load();
};

/** Whether a number has a list that shows which. */
const isListed = (metric, n, { brandSlug }) => n > 0 && listOf(metric, brandSlug) !== undefined;

/** What shows which records a number counts; undefined where there is nothing to show. */
export const opener = (metric, n, name, query, range) =>
  isListed(metric, n, query) ? () => open(metric, name, query, range) : undefined;

/** A number that shows which records it counts when it is pressed; undefined where there is nothing to show. */
export const counted = (n, name, onOpen) => {
  if (onOpen === undefined) return undefined;
  const label = `${name}: ${number(n)}. Show which`;
  const button = element('button', number(n), {
    type: 'button',
    class: 'count',
    'aria-label': label,
    'aria-haspopup': 'dialog',
  });
  button.onclick = onOpen;
  return button;
};

/** @param failed is told of a failure; returns whether the key is no longer accepted */
export const startRecordsDialog = (api, failed) => {
  [apiNow, onFailure] = [api, failed];
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void load();
  });
  status.addEventListener('change', load);
  more.addEventListener('click', loadPage);
  place.querySelector('.close').addEventListener('click', close);
  saveButton.addEventListener('click', () =>
    attempt(async () => {
      announcement.textContent = 'Preparing CSV';
      save(asked.list, await apiNow().getCsv(`organization/${asked.list}`, queryNow(), CSV_TIMEOUT_MS));
      announcement.textContent = 'The CSV has been saved';
    }),
  );
  place.addEventListener('close', () => {
    aborter?.abort();
    items = [];
    scroll.replaceChildren();
    // What opened it may have been drawn anew since.
    if (document.activeElement === document.body) document.getElementById('main').focus();
  });
};

/** The next key must not see this one's records. */
export const clear = () => {
  if (place.open) close();
};

import { save } from '../csv.js';
import { element, fillTable } from '../table.js';
import { COLUMNS, listOf } from './record-lists.js';
import { number, time } from '../words.js';

const dialog = document.getElementById('records-dialog');
const [title, summary, form, problem] = ['h2', '.summary', 'form', '[role=alert]'].map((each) =>
  dialog.querySelector(each),
);
const [table, scroll, more, saveButton, announcement] = ['.table', '.scroll', '.more', '.csv', '[role=status]'].map(
  (each) => dialog.querySelector(each),
);
const { content, assetType, status } = form.elements;

const ROWS_A_PAGE = 100;
/** Maximum number of rows that are shown. The CSV has all rows. */
const MAX_ROWS = 4_000;
/** The timeout of an export in ms, which equals the timeout of the service. */
const CSV_TIMEOUT_MS = 600_000;

let apiNow;
let onFailure;
/** The query of the dialog: the list, its statuses, and the range and brand of the metric. */
let request;
let items = [];
let nextCursor;
let aborter;

const filters = () => ({
  ...(content.value.trim() && { content: content.value.trim() }),
  ...(assetType.value.trim() && { assetType: assetType.value.trim().toUpperCase() }),
});

/** Returns the parameters of the list. A chosen status replaces the statuses that the metric counts. */
const queryNow = () => ({ ...request.query, ...filters(), status: status.value || request.statuses?.join(',') });

const show = (asOf) => {
  const columns = COLUMNS[request.list];
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
  const brand = request.query.brandSlug ? `, brand ${request.query.brandSlug}` : '';
  announcement.textContent = summary.textContent = `${listed}. Range: ${request.range}${brand}. As of ${time(asOf)}.`;
};

/**
 * Runs `work`. If `work` fails, shows the failure, unless the dialog has been closed or has started another request.
 */
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
    const { body, asOf } = await apiNow().get(request.path, query, signal);
    if (signal.aborted) return;
    const row = items.length;
    items = [...items, ...body.items];
    ({ nextCursor } = body);
    show(asOf);
    // The focus moves to the new rows, because the button that loaded them may be hidden now.
    if (row > 0) scroll.focus();
  });
};

const load = () => {
  items = [];
  nextCursor = undefined;
  return loadPage();
};

const close = () => dialog.close();

/** Shows the records that a metric counts. @param query range and brand of the metric @param range name of the range */
const open = (metric, name, query, range) => {
  const { assetType: type = '', ...others } = query;
  request = { ...listOf(metric, query.brandSlug), query: others, range };
  form.reset();
  form.hidden = request.list === 'reports';
  assetType.value = type;
  status.replaceChildren(new Option('All statuses', ''), ...request.choices.map((each) => new Option(each, each)));
  status.parentElement.hidden = request.choices.length < 2;
  title.textContent = name;
  summary.textContent = 'Loading …';
  table.hidden = more.hidden = true;
  dialog.showModal();
  void load();
};

/** Whether the records that a metric counts can be listed. */
const isListed = (metric, n, { brandSlug }) => n > 0 && listOf(metric, brandSlug) !== undefined;

/** Returns a function that shows the counted records; undefined if there are no records to show. */
export const opener = (metric, n, name, query, range) =>
  isListed(metric, n, query) ? () => open(metric, name, query, range) : undefined;

/**
 * Returns a button that has the number as its text and shows the counted records; undefined if there are no records to
 * show.
 */
export const countButton = (n, name, onOpen) => {
  if (onOpen === undefined) return undefined;
  const label = `${name}: ${number(n)}. Show the records`;
  const button = element('button', number(n), {
    type: 'button',
    class: 'count',
    'aria-label': label,
    'aria-haspopup': 'dialog',
  });
  button.onclick = onOpen;
  return button;
};

/** @param failed called with each failure; returns whether the key is no longer accepted */
export const startRecordsDialog = (api, failed) => {
  [apiNow, onFailure] = [api, failed];
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void load();
  });
  status.addEventListener('change', load);
  more.addEventListener('click', loadPage);
  dialog.querySelector('.close').addEventListener('click', close);
  saveButton.addEventListener('click', () =>
    attempt(async () => {
      announcement.textContent = 'Preparing CSV';
      save(request.list, await apiNow().getCsv(request.path, queryNow(), CSV_TIMEOUT_MS));
      announcement.textContent = 'The CSV has been saved';
    }),
  );
  dialog.addEventListener('close', () => {
    aborter?.abort();
    items = [];
    scroll.replaceChildren();
    // The element that opened the dialog may have been replaced while the dialog was open.
    if (document.activeElement === document.body) document.getElementById('main').focus();
  });
};

/** Removes all records, because the user of the next key must not see them. */
export const clear = () => {
  if (dialog.open) close();
};

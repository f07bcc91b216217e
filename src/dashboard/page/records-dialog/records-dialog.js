import { save } from '../csv.js';
import { queryOf, RANGES } from '../range.js';
import { cellsOf, element, fillTable, tableCsv } from '../table.js';
import { COLUMNS, listOf, matcherOf } from './record-lists.js';
import { requestDialog } from './request-dialog.js';
import { number, spoken, time } from '../words.js';

const dialog = document.getElementById('records-dialog');
const [title, summary, form] = ['h2', '.summary', 'form'].map((each) => dialog.querySelector(each));
const [table, scroll, more, saveButton, announcement] = ['.table', '.scroll', '.more', '.csv', '[role=status]'].map(
  (each) => dialog.querySelector(each),
);
const { content, assetType, status } = form.elements;

const ROWS_A_PAGE = 100;
/** Maximum number of records per page of the API. */
const ROWS_OF_A_SEARCH = 1_000;
/** Maximum number of rows that are shown or searched by a part of their text. The CSV has all rows. */
const MAX_ROWS = 4_000;
/** The timeout of an export in ms, which equals the timeout of the service. */
const CSV_TIMEOUT_MS = 600_000;

let apiNow;
/** The query of the dialog: the list, its statuses, the range and brand of the metric, and the total, if known. */
let request;
let items = [];
let nextCursor;
/** The records of a search; undefined unless the list is searched. */
let found;

/** Returns the parameters of the list. A chosen status replaces the statuses that the metric counts. */
const queryNow = () => ({
  ...request.query,
  ...(assetType.value && { assetType: assetType.value }),
  status: status.value || request.statuses?.join(','),
});
const isFiltered = () => status.value !== '' || assetType.value !== request.assetType;

/** Adds types to the choice, which the page has for the types that the service ships with. */
const addTypes = (types) => {
  const known = new Set([...assetType.options].map(({ value }) => value));
  assetType.append(
    ...[...new Set(types)].filter((each) => !known.has(each)).map((each) => new Option(spoken(each), each)),
  );
};

const searchWords = () => {
  const searched = nextCursor === undefined ? `all ${number(items.length)}` : `the newest ${number(items.length)}`;
  const older = nextCursor === undefined ? '' : ' Older records are found only by their whole asset.';
  return `${number(found.length)} found in ${searched} records.${older}`;
};

const listWords = (isCut) => {
  if (items.length === 0)
    return request.query.from ? 'None.' : 'None. Choose another status or type, or a longer range.';
  const total = !isFiltered() && request.total > items.length ? ` of ${number(request.total)}` : '';
  const rest = isCut ? '; the CSV contains all records' : nextCursor === undefined ? '' : ' so far';
  return `${number(items.length)}${total} shown${rest}, newest first.`;
};

const tableOf = (records) => cellsOf(COLUMNS[request.list], records);

const show = (asOf) => {
  const rows = found ?? items;
  const isCut = nextCursor !== undefined && items.length >= MAX_ROWS;
  addTypes(items.flatMap(({ asset }) => asset?.type ?? []));
  fillTable(table, ...tableOf(rows));
  more.hidden = found !== undefined || nextCursor === undefined || isCut;
  const brand = request.query.brandSlug ? `, brand ${request.query.brandSlug}` : '';
  const words = found === undefined ? listWords(isCut) : searchWords();
  announcement.textContent = summary.textContent = `${words} Range: ${request.range}${brand}. As of ${time(asOf)}.`;
};

const requests = requestDialog(dialog, () => {
  items = [];
  scroll.replaceChildren();
});
export const { clear } = requests;

/** Loads the next page. @returns the as-of instant */
const loadRows = async (limit, signal) => {
  const { body, asOf } = await apiNow().get(request.path, { ...queryNow(), limit, cursor: nextCursor }, signal);
  signal.throwIfAborted();
  items = [...items, ...body.items];
  ({ nextCursor } = body);
  return asOf;
};

const loadPage = () =>
  requests.begin(async (signal) => {
    const row = items.length;
    show(await loadRows(ROWS_A_PAGE, signal));
    // The focus moves to the new rows, because the button that loaded them may be hidden now.
    if (row > 0) scroll.focus();
  });

/** Returns the records of a whole asset; none if the text is only a part of an asset. Reports have no asset. */
const exact = async (text, signal) => {
  if (request.list === 'reports') return [];
  try {
    const query = { ...queryNow(), content: text, limit: ROWS_OF_A_SEARCH };
    return (await apiNow().get(request.path, query, signal)).body.items;
  } catch (failure) {
    if (failure.status === 400) return [];
    throw failure;
  }
};

/**
 * Searches by the whole asset in all records, which the API can do, and by a part in the newest records, which are
 * loaded for that.
 */
const search = (text) =>
  requests.begin(async (signal) => {
    summary.textContent = 'Searching …';
    const whole = await exact(text, signal);
    let asOf;
    do asOf = await loadRows(ROWS_OF_A_SEARCH, signal);
    while (nextCursor !== undefined && items.length < MAX_ROWS);
    const byId = new Map([...items.filter(matcherOf(text)), ...whole].map((item) => [item.id, item]));
    found = [...byId.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    show(asOf);
  });

const load = () => {
  items = [];
  nextCursor = found = undefined;
  const text = content.value.trim();
  return text === '' ? loadPage() : search(text);
};

/** Shows the records that a metric counts. @param query range and brand of the metric @param range name of the range */
const open = (metric, name, query, range, total) => {
  const { assetType: type = '', ...others } = query;
  request = { ...listOf(metric, query.brandSlug), query: others, range, total, assetType: type };
  form.reset();
  if (type !== '') addTypes([type]);
  assetType.value = type;
  assetType.parentElement.hidden = request.list === 'reports';
  status.replaceChildren(
    new Option('All statuses', ''),
    ...request.choices.map((each) => new Option(spoken(each), each)),
  );
  status.parentElement.hidden = request.choices.length < 2;
  form.hidden = query.from !== undefined;
  title.textContent = name;
  summary.textContent = 'Loading …';
  table.hidden = more.hidden = true;
  requests.show();
  void load();
};

/** Returns a function that shows the counted records; undefined if there are no records to show. */
export const opener = (metric, n, name, query, range) =>
  n > 0 && listOf(metric, query.brandSlug) ? () => open(metric, name, query, range, n) : undefined;

/** Returns `opener` for the range and the brand of the filters, or for the query with `more`. */
export const openerFor = (filters, more) => (metric, n, name) =>
  opener(metric, n, name, { ...queryOf(filters), ...more }, RANGES[filters.range].name);

/** Shows the records that count otherwise now than at the instant `from` of the query. */
export const openRestated = (query, range) => open('restated', 'Records that changed', query, range);

/** Shows all records of a list, of any time. */
export const openAll = (list, name) => open(list, name, {}, 'all time');

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
    'data-value': n,
    'aria-label': label,
    'aria-haspopup': 'dialog',
  });
  button.onclick = onOpen;
  return button;
};

/** Fills a table of counts. @param entries arrays of a name, a number and the opener of its records, as in `drawBars` */
export const fillCounts = (part, columns, entries, name) => {
  const rows = entries.map(([label, n, onOpen]) => [label, countButton(n, label, onOpen) ?? n]);
  fillTable(part, columns, rows, { name });
};

/** @param failed called with each failure; returns whether the key is no longer accepted */
export const startRecordsDialog = (api, failed) => {
  apiNow = api;
  requests.start(failed);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    void load();
  });
  status.addEventListener('change', load);
  assetType.addEventListener('change', load);
  more.addEventListener('click', loadPage);
  saveButton.addEventListener('click', () =>
    requests.attempt(async () => {
      announcement.textContent = 'Preparing CSV';
      save(
        request.list,
        found === undefined
          ? await apiNow().getCsv(request.path, queryNow(), CSV_TIMEOUT_MS)
          : tableCsv(...tableOf(found)),
      );
      announcement.textContent = 'The CSV has been saved';
    }),
  );
};

import { save } from '../csv.js';
import { sentenceOfFailure } from '../failure.js';
import { queryOf, RANGES } from '../range.js';
import { cellsOf, element, fillTable, tableCsv, unsort } from '../table.js';
import { COLUMNS, listOf, matcherOf } from './record-lists.js';
import { requestDialog } from './request-dialog.js';
import { counted, number, spoken, time } from '../words.js';

const dialog = document.getElementById('records-dialog');
const [title, summary, form] = ['h2', '.summary', 'form'].map((each) => dialog.querySelector(each));
const [table, scroll, saveButton, announcement] = ['.table', '.scroll', '.csv', '[role=status]'].map((each) =>
  dialog.querySelector(each),
);
const { content, assetType, status } = form.elements;

/** The timeout of an export in ms, which equals the timeout of the service. */
const CSV_TIMEOUT_MS = 600_000;

let apiNow;
/** The query of the dialog: the list, its statuses, the range and brand of the metric, and the total, if known. */
let request;
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

const searchWords = ({ items, isCut }) =>
  `${number(found.length)} found in ${isCut ? 'the newest' : 'all'} ${counted(items.length, 'record')}.` +
  (isCut ? ' Older records are found only by their whole asset.' : '');

const listWords = ({ items, isCut }) => {
  if (items.length === 0)
    return request.query.from ? 'None.' : 'None. Choose another status or type, or a longer range.';
  if (!isCut) return `${counted(items.length, 'record')}.`;
  const rest = !isFiltered() && request.total ? ` of ${number(request.total)} records` : ' records; there are more';
  return `The newest ${number(items.length)}${rest}. The CSV contains all records.`;
};

const tableOf = (records) => cellsOf(COLUMNS[request.list], records);

const show = (answer) => {
  addTypes(answer.items.flatMap(({ asset }) => asset?.type ?? []));
  fillTable(table, ...tableOf(found ?? answer.items));
  const brand = request.query.brandSlug ? `, brand ${request.query.brandSlug}` : '';
  const words = found === undefined ? listWords(answer) : searchWords(answer);
  announcement.textContent =
    summary.textContent = `${words} Range: ${request.range}${brand}. As of ${time(answer.asOf)}.`;
};

/** After an import of many records, the service cannot list within its time limit what changed in a long range. */
const sentenceOf = (failure) => {
  if (failure.status !== 503 || request.list !== 'restated') return sentenceOfFailure(failure);
  return `These records cannot be listed now, perhaps because too many changed. Close this list, choose a short range, set “Totals as known on” to ${time(request.query.from)}, and select “Show the records that changed”.`;
};

const requests = requestDialog(dialog, () => scroll.replaceChildren(), sentenceOf);
export const { clear } = requests;

/** Returns the records of a whole asset; none if the text is only a part of an asset. Reports have no asset. */
const exact = async (text, signal) => {
  if (request.list === 'reports') return [];
  try {
    return (await apiNow().getItems(request.path, { ...queryNow(), content: text }, signal)).items;
  } catch (failure) {
    if (failure.status === 400) return [];
    throw failure;
  }
};

/**
 * Loads the list. A search is by the whole asset in all records, which the API can do, and by a part in the newest
 * records.
 */
const load = async () => {
  const isShown = await requests.begin(async (signal) => {
    const text = content.value.trim();
    summary.textContent = text === '' ? 'Loading …' : 'Searching …';
    const whole = text === '' ? [] : await exact(text, signal);
    const answer = await apiNow().getItems(request.path, queryNow(), signal);
    if (answer.isCut && request.total === undefined)
      // Not every list has a metric. It is asked for once.
      request.total = (await apiNow().get('organization/metrics', {}, signal)).body.metrics[request.metric] ?? null;
    signal.throwIfAborted();
    const byId = new Map([...answer.items.filter(matcherOf(text)), ...whole].map((item) => [item.id, item]));
    found = text === '' ? undefined : [...byId.values()].sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
    show(answer);
  });
  // Records of other filters could be mistaken for the records that failed to load.
  if (isShown === false) [table.hidden, summary.textContent] = [true, ''];
};

/** Shows the records that a metric counts. @param query range and brand of the metric @param range name of the range */
const open = (metric, name, query, range, total) => {
  const { assetType: type = '', ...others } = query;
  request = { ...listOf(metric, query.brandSlug), metric, query: others, range, total, assetType: type };
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
  table.hidden = true;
  unsort(table);
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

/** Returns the number; if there are records to show, as a button that shows them. */
export const countCell = (n, name, onOpen) => {
  if (onOpen === undefined) return n;
  const label = `${name}: ${number(n)}. Show the records`;
  const attributes = {
    type: 'button',
    class: 'count',
    'data-value': n,
    'aria-label': label,
    'aria-haspopup': 'dialog',
  };
  const button = element('button', number(n), attributes);
  button.onclick = onOpen;
  return button;
};

/**
 * Returns the entries of `fillCounts` for outcomes.
 * @param outcomes arrays of the key of a count, its name, the metric of its records, and more for the entry
 */
export const outcomeEntries = (outcomes, counts, openerOf, noun) =>
  outcomes.map(([key, name, metric, ...more]) => {
    const onOpen = openerOf(metric, counts[key], `${noun}: ${name.toLowerCase()}`);
    return [name, counts[key], onOpen, ...more];
  });

/** Fills a table of counts. @param entries arrays of a name, a number and the opener of its records, as in `drawBars` */
export const fillCounts = (part, columns, entries, name) => {
  const rows = entries.map(([label, n, onOpen]) => [label, countCell(n, label, onOpen)]);
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

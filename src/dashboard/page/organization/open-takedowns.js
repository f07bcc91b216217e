import { OPEN_TAKEDOWNS } from '../records-dialog/record-lists.js';
import { cellsOf, codeCell, dayCell, durationCell, fillTable, recordLink } from '../table.js';
import { counted, duration, number } from '../words.js';

export const section = document.getElementById('open-takedowns');
/** Maximum number of takedowns that are shown. The CSV has all that were read. */
const MAX_SHOWN = 10;

/** Loads the open takedowns of the whole organization and of any time. The API has the newest first. */
export const load = async (api, _filters, signal) => {
  const query = { status: OPEN_TAKEDOWNS.join(',') };
  const { pages, asOf } = await api.getItems('organization/takedowns', query, signal);
  return { body: pages, asOf };
};

const age = ({ createdAt }) => Math.max(0, Date.now() - Date.parse(createdAt));

const wordsFor = (items, isCut) => {
  if (items.length === 0) return 'No takedown is open.';
  const n = number(items.length);
  if (isCut) return `More than ${n} takedowns are open. These are the oldest of the newest ${n}.`;
  const shown = items.length > MAX_SHOWN ? ` The ${MAX_SHOWN} oldest are shown; the CSV contains all.` : '';
  return `${counted(items.length, 'open takedown')}, oldest first. The oldest has been open for ${duration(age(items[0]))}.${shown}`;
};

const COLUMNS = [
  ['Asset', ({ id, asset }) => recordLink('takedowns', id, asset.content)],
  ['Brand', ({ brand }) => brand],
  ['Status', ({ status }) => codeCell(status)],
  ['Filed', ({ createdAt }) => dayCell(createdAt)],
  ['Open for', (takedown) => durationCell(age(takedown))],
];

export const show = ({ body: pages }) => {
  const items = pages.flatMap((page) => page.items).reverse();
  section.querySelector('.summary').textContent = wordsFor(items, pages.at(-1).nextCursor !== undefined);
  const saved = { name: 'open-takedowns', shown: MAX_SHOWN };
  fillTable(section.querySelector('.table'), ...cellsOf(COLUMNS, items), saved);
};

export const nothing = [{ items: [] }];

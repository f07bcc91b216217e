import { fillTable, recordLink } from '../table.js';
import { counted, day, spoken } from '../words.js';

export const section = document.getElementById('disputes');
const table = section.querySelector('.table');
const COLUMNS = ['Asset', 'State', 'Verdict now', 'Reason', 'Note', 'Filed', 'Changed'];
/** Maximum number of disputes that are shown. The list of disputes has all. */
const MAX_ROWS = 20;

export const load = (api, _filters, signal) => api.get('asset/disputes', { limit: MAX_ROWS }, signal);

const wordsFor = ({ items, nextCursor }) => {
  if (items.length === 0)
    return 'There are no disputes yet. If an asset is blocked wrongly, check it above and select “Dispute this verdict”.';
  const open = items.filter(({ status }) => status === 'OPEN').length;
  const older = nextCursor === undefined ? '' : ' Older disputes are in the list “Disputes” above.';
  return `${counted(items.length, 'dispute')}, ${open} of them open, which come first.${older}`;
};

const isOpen = ({ status }) => Number(status === 'OPEN');

export const show = ({ body }) => {
  section.querySelector('.summary').textContent = wordsFor(body);
  table.hidden = body.items.length === 0;
  const rows = body.items
    .toSorted((one, other) => isOpen(other) - isOpen(one))
    .map(({ id, asset, status, verdictNow, reason, note, createdAt, updatedAt }) => [
      recordLink('disputes', id, asset.content),
      spoken(status),
      // Absent if the asset is still blocked, and also while a source gives no answer.
      verdictNow === undefined ? 'No change known' : spoken(verdictNow.status),
      reason,
      note,
      day(createdAt),
      day(updatedAt),
    ]);
  fillTable(table, COLUMNS, rows);
};

export const nothing = { items: [] };

import { fillTable } from '../table.js';
import { number } from '../words.js';

const section = document.getElementById('groups');
const COLUMNS = ['Group', 'Assets'];
/** Maximum number of rows that are shown. The CSV has all rows. */
const MAX_SHOWN = 100;

export const load = (api, _filters, signal) => api.get('organization/asset-groups', {}, signal);

const wordsFor = (groups) => {
  if (groups.length === 0) return 'There are no asset groups yet.';
  const assets = groups.reduce((sum, { assetCount }) => sum + assetCount, 0);
  const shown = groups.length > MAX_SHOWN ? ` The ${MAX_SHOWN} largest are shown; the CSV contains all groups.` : '';
  return `${number(assets)} assets in ${number(groups.length)} ${groups.length === 1 ? 'group' : 'groups'}.${shown}`;
};

export const show = ({ body: { groups } }) => {
  section.querySelector('.summary').textContent = wordsFor(groups);
  section.querySelector('.table').hidden = groups.length === 0;
  const rows = groups.toSorted((a, b) => b.assetCount - a.assetCount).map(({ name, assetCount }) => [name, assetCount]);
  fillTable(section.querySelector('.table'), COLUMNS, rows, { name: 'asset-groups', shown: MAX_SHOWN });
};

export const clear = () => {
  show({ body: { groups: [] } });
  section.querySelector('.summary').textContent = 'Not available.';
};

import { fillTable, recordLink } from '../table.js';
import { counted } from '../words.js';

export const section = document.getElementById('groups');
const COLUMNS = ['Group', 'Assets'];
/** Maximum number of rows that are shown. The CSV has all rows. */
const MAX_SHOWN = 100;

export const load = (api, _filters, signal) => api.get('organization/asset-groups', {}, signal);

const wordsFor = (groups) => {
  if (groups.length === 0)
    return 'There are no asset groups yet. A group names assets of your own, such as your shops; it is created through the API.';
  const assets = groups.reduce((sum, { assetCount }) => sum + assetCount, 0);
  const shown = groups.length > MAX_SHOWN ? ` The ${MAX_SHOWN} largest are shown; the CSV contains all groups.` : '';
  return `${counted(assets, 'asset')} in ${counted(groups.length, 'group')}.${shown}`;
};

export const show = ({ body: { groups } }) => {
  section.querySelector('.summary').textContent = wordsFor(groups);
  section.querySelector('.table').hidden = groups.length === 0;
  const sorted = groups.toSorted((a, b) => b.assetCount - a.assetCount);
  const rows = sorted.map(({ id, name, assetCount }) => [recordLink('groups', id, name), assetCount]);
  fillTable(section.querySelector('.table'), COLUMNS, rows, { name: 'asset-groups', shown: MAX_SHOWN });
};

export const nothing = { groups: [] };

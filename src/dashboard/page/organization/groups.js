import { fillTable } from '../table.js';
import { number } from '../words.js';

const place = document.getElementById('groups');
const COLUMNS = ['Group', 'Assets'];
/** Rows shown; the CSV has all of them. */
const MAX_SHOWN = 100;

export const load = (api, _filters, signal) => api.get('organization/asset-groups', {}, signal);

const wordsFor = (groups) => {
  if (groups.length === 0) return 'There are no asset groups yet.';
  const assets = groups.reduce((sum, { assetCount }) => sum + assetCount, 0);
  const shown = groups.length > MAX_SHOWN ? ` The ${MAX_SHOWN} largest are shown; the CSV contains all groups.` : '';
  return `${number(assets)} assets in ${number(groups.length)} ${groups.length === 1 ? 'group' : 'groups'}.${shown}`;
};

export const show = ({ body: { groups } }) => {
  place.querySelector('.summary').textContent = wordsFor(groups);
  place.querySelector('.table').hidden = groups.length === 0;
  const rows = groups.toSorted((a, b) => b.assetCount - a.assetCount).map(({ name, assetCount }) => [name, assetCount]);
  fillTable(place.querySelector('.table'), COLUMNS, rows, { name: 'asset-groups', shown: MAX_SHOWN });
};

export const clear = () => {
  show({ body: { groups: [] } });
  place.querySelector('.summary').textContent = 'Not available.';
};

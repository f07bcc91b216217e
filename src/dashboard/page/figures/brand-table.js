import { available } from '../organization/brands.js';
import { queryOf, RANGES } from '../range.js';
import { countCell, openerFor } from '../records-dialog/records-dialog.js';
import { fillTable } from '../table.js';
import { COLUMNS } from './totals.js';
import { counted } from '../words.js';

export const section = document.getElementById('brands');
/** Maximum number of brands that are shown, because each brand is a request. */
const MAX_BRANDS = 20;
/** The watchlist of a brand is not counted. */
const BRAND_COLUMNS = COLUMNS.filter(([key]) => key !== 'threatsWatchlisted');

/** Loads the metrics of each brand, one after the other, because the service limits the requests that wait. */
export const load = async (api, filters, signal) => {
  const { body } = await api.get('organization/brands', {}, signal);
  const answers = [];
  for (const { slug: brandSlug } of available(body).slice(0, MAX_BRANDS))
    answers.push(await api.get('organization/metrics', { ...queryOf(filters), brandSlug }, signal));
  return { body: [body, ...answers.map((answer) => answer.body)], asOf: answers[0]?.asOf };
};

export const show = ({ body: [listed, ...counts] }, filters) => {
  const brands = available(listed);
  section.hidden = brands.length === 0;
  const rest = brands.length > MAX_BRANDS ? ` The first ${MAX_BRANDS} are shown; choose another one above.` : '';
  section.querySelector('.summary').textContent =
    `${counted(brands.length, 'brand')} in ${RANGES[filters.range].name}, most threats first. ` +
    `Takedowns are those last changed in this range.${rest}`;
  const rows = counts
    .map(({ metrics }, index) => [metrics, brands[index]])
    .sort(([one], [other]) => other.newThreats - one.newThreats)
    .map(([metrics, { slug, name = slug }]) => {
      const openerOf = openerFor(filters, { brandSlug: slug });
      const cellOf = ([key, short]) =>
        countCell(metrics[key], `${short} of ${name}`, openerOf(key, metrics[key], `${short}: ${name}`));
      return [name, ...BRAND_COLUMNS.map(cellOf)];
    });
  const columns = ['Brand', ...BRAND_COLUMNS.map(([, short]) => short)];
  fillTable(section.querySelector('.table'), columns, rows, { name: 'brands' });
};

export const nothing = [{ brands: [] }];

const section = document.getElementById('brand-choice');
const choice = section.querySelector('select');
/** Maximum number of options in the list. A longer list would be unusable. */
const MAX_SHOWN = 1_000;

export const load = (api, _filters, signal) => api.get('organization/brands', {}, signal);

let listed = '';

/**
 * Updates the list of brands. The list is hidden if no brand has metrics, and is replaced only if the brands have
 * changed.
 */
export const show = ({ body: { brands } }, { brandSlug: chosen = '' }) => {
  const available = brands.filter(({ metricsAvailable }) => metricsAvailable).slice(0, MAX_SHOWN);
  const list = JSON.stringify(available);
  if (list === listed) return;
  listed = list;
  choice.replaceChildren(new Option('Whole organization', ''));
  choice.append(...available.map(({ slug, name }) => new Option(name ?? slug, slug)));
  choice.value = available.some(({ slug }) => slug === chosen) ? chosen : '';
  section.hidden = available.length === 0;
  if (choice.value !== chosen) choice.dispatchEvent(new Event('change', { bubbles: true }));
};

export const nothing = { brands: [] };

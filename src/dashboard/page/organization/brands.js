const section = document.getElementById('brand-choice');
const choice = section.querySelector('select');
/** Maximum number of options in the list. A longer list would be unusable. */
const MAX_SHOWN = 1_000;

export const load = (api, _filters, signal) => api.get('organization/brands', {}, signal);

/** Returns the brands that have metrics. */
export const available = ({ brands }) => brands.filter(({ metricsAvailable }) => metricsAvailable);

/** Updates the list of brands. The list is hidden if no brand has metrics. */
export const show = ({ body }, { brandSlug: chosen = '' }) => {
  const brands = available(body).slice(0, MAX_SHOWN);
  choice.replaceChildren(new Option('Whole organization', ''));
  choice.append(...brands.map(({ slug, name }) => new Option(name ?? slug, slug)));
  choice.value = brands.some(({ slug }) => slug === chosen) ? chosen : '';
  section.hidden = brands.length === 0;
  if (choice.value !== chosen) choice.dispatchEvent(new Event('change', { bubbles: true }));
};

export const nothing = { brands: [] };

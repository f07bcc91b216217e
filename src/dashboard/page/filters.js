import { dateOf, RANGES, queryOf } from './range.js';

const form = document.getElementById('filters');
const customRange = document.getElementById('custom-range');
const { range, startDate, endDate, brandSlug, knownAt, present } = form.elements;

/** The chosen brand or, until the list of brands has been loaded, the brand in the address. */
let brand;
/** Whether the user or the address has chosen the range. */
let isChosen = false;

const readForm = () => ({
  range: range.value,
  ...(range.value === 'custom' && { startDate: startDate.value, endDate: endDate.value }),
  ...(brand && { brandSlug: brand }),
  ...(knownAt.value && { knownAt: new Date(`${knownAt.value}Z`).toISOString() }),
});

/** Writes the filters to the address, so that reloads and bookmarks keep them. */
const writeAddress = (filters) => history.replaceState(null, '', `?${new URLSearchParams(filters)}${location.hash}`);

const readAddress = () => {
  const query = new URLSearchParams(location.search);
  // Bookmarks of earlier versions name the custom range `own`.
  const named = query.get('range') === 'own' ? 'custom' : query.get('range');
  isChosen = named in RANGES;
  if (isChosen) range.value = named;
  startDate.value = query.get('startDate') ?? '';
  endDate.value = query.get('endDate') ?? '';
  brand = query.get('brandSlug');
  // The field takes only a valid date-time, without its zone.
  knownAt.value = query.get('knownAt')?.replace(/(?:\.000)?Z$/, '') ?? '';
  present.hidden = knownAt.value === '';
  if (range.value === 'custom' && !(startDate.value && endDate.value)) range.value = '30d';
  customRange.hidden = range.value !== 'custom';
};

/** Fills empty custom dates with those of the last 30 days. */
const fillCustomRange = () => {
  startDate.value ||= queryOf({ range: '30d' }).startDate;
  endDate.value ||= dateOf(Date.now());
};

const isUsable = () => {
  endDate.setCustomValidity(startDate.value > endDate.value ? 'The last day must not be before the first.' : '');
  const isPast = !knownAt.value || Date.parse(`${knownAt.value}Z`) < Date.now();
  knownAt.setCustomValidity(isPast ? '' : 'Choose a date and a time in the past (UTC).');
  const isCustom = range.value === 'custom';
  startDate.required = endDate.required = isCustom;
  return isCustom ? form.reportValidity() : knownAt.reportValidity();
};

/**
 * Reads the filters from the address, and updates them when the user changes the form.
 * @returns `now()`, which returns the current filters; `isChosen()`, whether
 *   somebody has chosen the range; `showNewest(first, last)`, which sets a custom range; and
 *   `forgetBrand()`, which removes the brand before the next key is used
 */
export const startFilters = (onChange) => {
  readAddress();
  let filters = readForm();
  const applyFilters = () => {
    if (!isUsable()) return;
    isChosen = true;
    filters = readForm();
    present.hidden = filters.knownAt === undefined;
    writeAddress(filters);
    onChange();
  };
  form.addEventListener('change', ({ target }) => {
    if (target === brandSlug) brand = brandSlug.value;
    customRange.hidden = range.value !== 'custom';
    if (range.value === 'custom') fillCustomRange();
    // Dates take effect when the button is pressed, because a date may be half typed before.
    if (![startDate, endDate, knownAt].includes(target)) applyFilters();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    applyFilters();
  });
  present.addEventListener('click', () => {
    knownAt.value = '';
    knownAt.focus();
    applyFilters();
  });
  return {
    now: () => filters,
    isChosen: () => isChosen,
    showNewest: (first, last) => {
      // The address stays without a range, so that a bookmark shows the newest days of another day.
      isChosen = true;
      range.value = 'custom';
      customRange.hidden = false;
      [startDate.value, endDate.value] = [first, last];
      filters = { ...readForm(), isNewest: true };
      onChange();
    },
    forgetBrand: () => {
      brand = undefined;
      filters = readForm();
      writeAddress(filters);
    },
  };
};

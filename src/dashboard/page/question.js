import { RANGES, queryOf } from './range.js';

const form = document.getElementById('question');
const ownDates = document.getElementById('own-dates');
const { range, startDate, endDate, brandSlug } = form.elements;

/** Chosen, or named by the address: the brands to choose from are listed later. */
let brand;

const read = () => ({
  range: range.value,
  ...(range.value === 'own' && { startDate: startDate.value, endDate: endDate.value }),
  ...(brand && { brandSlug: brand }),
});

/** The question is in the address, so that reloads and bookmarks keep it. */
const writeAddress = (question) => history.replaceState(null, '', `?${new URLSearchParams(question)}`);

const readAddress = () => {
  const query = new URLSearchParams(location.search);
  if (query.get('range') in RANGES) range.value = query.get('range');
  startDate.value = query.get('startDate') ?? '';
  endDate.value = query.get('endDate') ?? '';
  brand = query.get('brandSlug');
  if (range.value === 'own' && !(startDate.value && endDate.value)) range.value = '30d';
  ownDates.hidden = range.value !== 'own';
};

/** Custom dates default to the last 30 days. */
const fillOwnDates = () => {
  startDate.value ||= queryOf({ range: '30d' }).startDate;
  endDate.value ||= new Date().toISOString().slice(0, 10);
};

const isUsable = () => {
  endDate.setCustomValidity(startDate.value > endDate.value ? 'The last day must not be before the first.' : '');
  const isOwn = range.value === 'own';
  startDate.required = endDate.required = isOwn;
  return !isOwn || form.reportValidity();
};

/**
 * The question, as set by the reader.
 * @returns `now()`, the current question; `showDays(first, last)`; and `forgetBrand()`, for the next key
 */
export const startQuestion = (onChange) => {
  readAddress();
  let question = read();
  const ask = () => {
    if (!isUsable()) return;
    question = read();
    writeAddress(question);
    onChange();
  };
  form.addEventListener('change', ({ target }) => {
    if (target === brandSlug) brand = brandSlug.value;
    ownDates.hidden = range.value !== 'own';
    if (range.value === 'own') fillOwnDates();
    // Dates may be half typed until the button is pressed.
    if (target !== startDate && target !== endDate) ask();
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    ask();
  });
  return {
    now: () => question,
    showDays: (first, last) => {
      range.value = 'own';
      ownDates.hidden = false;
      [startDate.value, endDate.value] = [first, last];
      form.querySelector('[name=range]:checked').focus();
      ask();
    },
    forgetBrand: () => {
      brand = undefined;
      question = read();
      writeAddress(question);
    },
  };
};

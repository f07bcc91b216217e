import { csvOf, save } from './csv.js';
import { showProblem } from './problem.js';
import { number } from './words.js';

/** Rows in the page at once; the CSV has all of them. */
const MAX_ROWS = 4_000;

/** Names come from outside, so everything is set as text. */
export const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

const shown = (value) => (typeof value === 'number' ? number(value) : (value ?? '–'));

const rowOf = ([first, ...others]) => {
  const row = document.createElement('tr');
  row.append(element('th', shown(first), { scope: 'row' }));
  for (const value of others) row.append(element('td', shown(value), typeof value === 'number' ? { class: 'n' } : {}));
  return row;
};

/** Numbers stand under the right end of their name. */
const headOf = (columns, [first = []]) => {
  const head = document.createElement('thead');
  const row = document.createElement('tr');
  row.append(
    ...columns.map((column, index) =>
      element('th', column, { scope: 'col', ...(typeof first[index] === 'number' && { class: 'n' }) }),
    ),
  );
  head.append(row);
  return head;
};

/**
 * Fills the table in a part of the page, and has the button above it save the same.
 * @param place holds `.scroll`, and a button where it can be saved
 * @param saved name of the file, what it holds (the rows unless `text` gives another), and how many rows are `shown`
 */
export const fillTable = (place, columns, rows, saved) => {
  const table = document.createElement('table');
  const body = document.createElement('tbody');
  body.append(...rows.slice(0, saved?.shown ?? MAX_ROWS).map(rowOf));
  table.append(headOf(columns, rows), body);
  place.querySelector('.scroll').replaceChildren(table);
  if (saved === undefined) return;
  const { name, text = () => csvOf(columns, rows) } = saved;
  place.querySelector('button').onclick = async () => {
    try {
      save(name, await text());
    } catch (error) {
      showProblem(`The table could not be saved. ${error.message}`);
    }
  };
};

import { csvOf, save } from './csv.js';
import { showProblem } from './problem.js';
import { number } from './words.js';

/** Maximum number of rows that are shown. The CSV has all rows. */
const MAX_ROWS = 4_000;

/** Creates an element. The content is set as text instead of markup, because names are untrusted. */
export const element = (name, text, attributes = {}) => {
  const made = document.createElement(name);
  made.textContent = text;
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  return made;
};

/** Whether a value is a number, or a button with a number that shows the counted records. */
const isNumber = (value) => typeof value === 'number' || value instanceof HTMLButtonElement;

const shown = (value) => (typeof value === 'number' ? number(value) : (value ?? '–'));

const rowOf = ([first, ...others]) => {
  const row = document.createElement('tr');
  row.append(element('th', shown(first), { scope: 'row' }));
  for (const value of others) {
    const cell = element('td', value instanceof Node ? '' : shown(value), isNumber(value) ? { class: 'n' } : {});
    if (value instanceof Node) cell.append(value);
    row.append(cell);
  }
  return row;
};

/** Creates the head of a table, with the headings of number columns right-aligned. */
const headOf = (columns, [first = []]) => {
  const head = document.createElement('thead');
  const row = document.createElement('tr');
  row.append(
    ...columns.map((column, index) =>
      element('th', column, { scope: 'col', ...(isNumber(first[index]) && { class: 'n' }) }),
    ),
  );
  head.append(row);
  return head;
};

/**
 * Fills the table in a part of the page, and makes the button above the table save the same data.
 * @param container contains `.scroll`, and optionally a button
 * @param saved the `name` of the file; optionally a `text` to save instead of the rows, and the number of rows that are
 *   `shown`
 */
export const fillTable = (container, columns, rows, saved) => {
  const table = document.createElement('table');
  const body = document.createElement('tbody');
  body.append(...rows.slice(0, saved?.shown ?? MAX_ROWS).map(rowOf));
  table.append(headOf(columns, rows), body);
  container.querySelector('.scroll').replaceChildren(table);
  if (saved === undefined) return;
  const { name, text = () => csvOf(columns, rows) } = saved;
  container.querySelector('button').onclick = async () => {
    try {
      save(name, await text());
    } catch (error) {
      showProblem(`The table could not be saved. ${error.message}`);
    }
  };
};

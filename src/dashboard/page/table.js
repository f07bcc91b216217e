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

/**
 * Returns a link to a record, which opens its details: the list is as in the API, such as `threats`. The slash tells
 * assistive programs that the link leads to no place in the page.
 */
export const recordLink = (list, id, text) => element('a', text, { href: `#/${list}=${encodeURIComponent(id)}` });

/** Returns a cell with a text that is compared as a number, such as a share or a duration. The CSV has the number. */
export const rightAligned = (text, value) => element('span', text, { class: 'n', 'data-value': value });

/** Returns the value of a cell in a CSV: the number behind a formatted number, or the text. */
const plain = (value) => (value instanceof Element ? (value.dataset.value ?? value.textContent) : value);

/** Whether a value is right-aligned: a number, a button with a number, or a text that is compared as a number. */
const isNumber = (value) => typeof value === 'number' || (value instanceof Element && value.matches('.count, .n'));

const shown = (value) => (typeof value === 'number' ? number(value) : (value ?? '–'));

const rowOf = ([first, ...others]) => {
  const row = document.createElement('tr');
  const append = (name, value, attributes) => {
    const cell = element(name, value instanceof Node ? '' : shown(value), attributes);
    if (value instanceof Node) cell.append(value);
    row.append(cell);
  };
  append('th', first, { scope: 'row' });
  for (const value of others) append('td', value, isNumber(value) ? { class: 'n' } : {});
  return row;
};

/** Creates the head of a table, with the headings of number columns right-aligned. */
const headOf = (columns, rows) => {
  const head = document.createElement('thead');
  const row = document.createElement('tr');
  row.append(
    ...columns.map((column, index) =>
      element('th', column, { scope: 'col', ...(rows.some((cells) => isNumber(cells[index])) && { class: 'n' }) }),
    ),
  );
  head.append(row);
  return head;
};

export const tableCsv = (columns, rows) =>
  csvOf(
    columns,
    rows.map((cells) => cells.map(plain)),
  );

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
  const { name, text = () => tableCsv(columns, rows) } = saved;
  container.querySelector('button').onclick = async () => {
    try {
      save(name, await text());
    } catch (error) {
      showProblem(`The table could not be saved. ${error.message}`);
    }
  };
};

import { csvOf, save } from './csv.js';
import { showProblem } from './problem.js';
import { number } from './words.js';

/** Maximum number of rows that are shown. The CSV has all rows. */
const MAX_ROWS = 4_000;

/**
 * Creates an element. A text is set as text instead of markup, because names are untrusted.
 * @param content a text or an element, or an array of them
 */
export const element = (name, content = [], attributes = {}) => {
  const made = document.createElement(name);
  made.append(...[content].flat());
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

const rowOf = ([first, ...others]) =>
  element('tr', [
    element('th', shown(first), { scope: 'row' }),
    ...others.map((value) => element('td', shown(value), isNumber(value) ? { class: 'n' } : {})),
  ]);

/** Creates the head of a table, with the headings of number columns right-aligned. */
const headOf = (columns, rows) => {
  const isOfNumbers = (index) => rows.some((cells) => isNumber(cells[index]));
  const cells = columns.map((column, index) =>
    element('th', column, { scope: 'col', ...(isOfNumbers(index) && { class: 'n' }) }),
  );
  return element('thead', element('tr', cells));
};

export const tableCsv = (columns, rows) =>
  csvOf(
    columns,
    rows.map((cells) => cells.map(plain)),
  );

/**
 * Fills the table in a part of the page, and makes the button above the table save the same data. A part without rows is
 * hidden.
 * @param container contains `.scroll`, and optionally a button
 * @param saved the `name` of the file; optionally a `text` to save instead of the rows, and the number of rows that are
 *   `shown`
 */
export const fillTable = (container, columns, rows, saved) => {
  container.hidden = rows.length === 0;
  const body = element('tbody', rows.slice(0, saved?.shown ?? MAX_ROWS).map(rowOf));
  container.querySelector('.scroll').replaceChildren(element('table', [headOf(columns, rows), body]));
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

/**
 * Returns the names of columns, and the cells of each item.
 * @param columns arrays of a name, and a function that returns the cell of an item
 */
export const cellsOf = (columns, items) => [
  columns.map(([name]) => name),
  items.map((item) => columns.map(([, cell]) => cell(item))),
];

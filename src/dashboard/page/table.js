import { csvOf, save } from './csv.js';
import { showProblem } from './problem.js';
import { day, duration, number, spoken, time } from './words.js';

/** Maximum number of rows that are shown. The CSV has all rows. */
const MAX_ROWS = 4_000;
/** Maximum number of columns side by side on a narrow screen. A row with more columns is a card there. */
const MAX_NARROW = 3;

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

/** Returns a cell with a text that is compared as a number, such as a share. The CSV has the number. */
export const rightAligned = (text, value, more) => element('span', text, { class: 'n', 'data-value': value, ...more });
/** Returns a cell with a duration. The CSV has it in ms, and says so in the heading of the column. */
export const durationCell = (ms) => rightAligned(duration(ms), ms, { 'data-unit': 'ms' });

/** Returns a cell with a text for people, such as a date. The CSV has the value of the API. */
const worded = (text, value) =>
  value === undefined ? undefined : element('span', text(value), { 'data-value': value });
/** Cells with a status or a type, with a day, and with an instant; `undefined` if they are absent. */
export const codeCell = (code) => worded(spoken, code);
export const dayCell = (iso) => worded(day, iso);
export const timeCell = (iso) => worded(time, iso);

/** Returns the value of a cell in a CSV: the value behind a formatted text, or the text. */
const plain = (value) => (value instanceof Element ? (value.dataset.value ?? value.textContent) : value);

/** Whether a value is right-aligned: a number, a button with a number, or a text that is compared as a number. */
const isNumber = (value) => typeof value === 'number' || (value instanceof Element && value.matches('.count, .n'));

const shown = (value) => (typeof value === 'number' ? number(value) : value || '–');

const rowOf = (columns, [first, ...others]) =>
  element('tr', [
    element('th', shown(first), { scope: 'row' }),
    // On a narrow screen, the name of the column stands before the value.
    ...others.map((value, index) =>
      element('td', shown(value), { 'data-column': columns[index + 1], ...(isNumber(value) && { class: 'n' }) }),
    ),
  ]);

const COLLATOR = new Intl.Collator('en', { numeric: true });
const compare = (one, other) =>
  isNumber(one) && isNumber(other) ? plain(one) - plain(other) : COLLATOR.compare(plain(one) ?? '', plain(other) ?? '');

/** The column and the direction by which the user has sorted a table, by its container. */
const sorts = new WeakMap();
export const unsort = (container) => sorts.delete(container);

const inOrder = (container, columns, rows) => {
  const { column, sign } = sorts.get(container) ?? {};
  const index = columns.indexOf(column);
  return index === -1 ? rows : rows.toSorted((one, other) => sign * compare(one[index], other[index]));
};

/** Creates the head of a table, with the headings of number columns right-aligned. Each heading sorts the rows. */
const headOf = (container, columns, rows, fill) => {
  const last = sorts.get(container);
  const cells = columns.map((column, index) => {
    const isOfNumbers = rows.some((row) => isNumber(row[index]));
    const isSorted = last?.column === column;
    const button = element('button', column, { type: 'button', class: 'sort' });
    button.onclick = () => {
      // The largest numbers come first, because they are of most interest.
      sorts.set(container, { column, sign: isSorted ? -last.sign : isOfNumbers ? -1 : 1 });
      fill();
      container.querySelector('[aria-sort] button').focus();
    };
    return element('th', rows.length > 1 ? button : column, {
      scope: 'col',
      ...(isOfNumbers && { class: 'n' }),
      ...(isSorted && { 'aria-sort': last.sign > 0 ? 'ascending' : 'descending' }),
    });
  });
  return element('thead', element('tr', cells));
};

/** Returns the heading of a column in a CSV, which has the unit of its cells. */
const headingOf = (column, cell) => (cell?.dataset?.unit === undefined ? column : `${column} (${cell.dataset.unit})`);

export const tableCsv = (columns, rows) =>
  csvOf(
    columns.map((column, index) => headingOf(column, rows[0]?.[index])),
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
  const fill = () => {
    const ordered = inOrder(container, columns, rows).slice(0, saved?.shown ?? MAX_ROWS);
    const body = element(
      'tbody',
      ordered.map((row) => rowOf(columns, row)),
    );
    const parts = [headOf(container, columns, rows, fill), body];
    const table = element('table', parts, columns.length > MAX_NARROW ? { class: 'stacked' } : {});
    container.querySelector('.scroll').replaceChildren(table);
  };
  fill();
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

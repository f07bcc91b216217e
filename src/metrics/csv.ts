/** With the header line that each of ours begins with (RFC 4180, RFC 7111). */
export const CSV = 'text/csv; charset=utf-8; header=present';

/** What a spreadsheet takes for a formula where a cell begins with it. */
const FORMULA = /^[=+\-@\t\r]/;
const QUOTED = /[",\r\n]/;

/** A text that a spreadsheet would calculate is shown to it as a text. */
const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** One line, its end (CR LF) included. */
export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`;

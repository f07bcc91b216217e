/** Every table of this service begins with a header line (RFC 4180, RFC 7111). */
export const CSV = 'text/csv; charset=utf-8; header=present';

/**
 * Cells that a spreadsheet would treat as a formula: the sign may be full-width or small, and may follow blanks or
 * invisible characters. A control character at the start is guarded too, because a spreadsheet may drop it.
 */
const FORMULA = /^(?:\p{Cc}|[\p{Z}\p{Cf}\p{Cc}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;
const QUOTED = /[",\r\n]/;

/** Text that a spreadsheet would evaluate is quoted as text. */
const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** One line including its CR LF. */
export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`;

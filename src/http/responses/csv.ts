/** The media type of CSV with a header line (RFC 4180, RFC 7111), which every table of this service has. */
export const CSV = 'text/csv; charset=utf-8; header=present';

/**
 * Matches cells that a spreadsheet would treat as a formula. The sign may be full-width or small, and may follow spaces
 * or invisible characters. A leading control character matches too, because a spreadsheet may drop it.
 */
const FORMULA = /^(?:\p{Cc}|[\p{Z}\p{Cf}\p{Cc}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;
const QUOTED = /[",\r\n]/;

/** Formats a cell. Text that a spreadsheet would evaluate gets a leading apostrophe. */
const cell = (value: string | number): string => {
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Formats one line, including CR LF. */
export const csvLine = (cells: readonly (string | number)[]): string => `${cells.map(cell).join(',')}\r\n`;

/**
 * Matches cells that a spreadsheet would treat as a formula. The sign may be full-width or small, and may follow blanks
 * or invisible characters. The pattern also matches a control character at the start, because a spreadsheet may drop
 * the character.
 */
const FORMULA = /^(?:\p{Cc}|[\p{Z}\p{Cf}\p{Cc}]*[=+\-@＝＋－＠﹦﹢﹣﹫])/u;
const QUOTED = /[",\r\n]/;

const cell = (value) => {
  const text = typeof value === 'string' && FORMULA.test(value) ? `'${value}` : String(value ?? '');
  return QUOTED.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

/** Returns a CSV as in RFC 4180, with a header line. */
export const csvOf = (columns, rows) => [columns, ...rows].map((cells) => `${cells.map(cell).join(',')}\r\n`).join('');

/** Offers a text or a blob as a download. */
export const save = (name, text) => {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/csv' }));
  const link = Object.assign(document.createElement('a'), { href: url, download: `${name}.csv` });
  link.click();
  // After ten seconds, the browser has started to read the blob.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
};

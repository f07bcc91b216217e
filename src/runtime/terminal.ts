/**
 * Characters that control a terminal or disguise a text: control characters, bidirectional overrides, line and paragraph
 * separators, characters without a width (including tags and variation selectors), and lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const INDENT = '    ';

/** Returns the text on one line, with each unprintable character escaped as `\u{202E}`. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16).toUpperCase()}}`);

/**
 * Escapes a text of several lines, such as a stack. All lines except the first are indented, so that no line can look
 * like a log line.
 */
export const printableLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line, index) => printable(index === 0 || line.startsWith(INDENT) ? line : INDENT + line))
    .join('\n');

/** Escapes unprintable characters in JSON as `\u202e`. The parsed value is unchanged. */
export const printableJson = (json: string): string =>
  json.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index);
      return `\\u${unit.toString(16).padStart(4, '0')}`;
    }).join(''),
  );

/**
 * Lets the process outlive the readers of its output, such as `tee` or an SSH session. Without a listener, a write to
 * a pipe without a reader (EPIPE) would end the process at once, and nobody would stop the embedded PostgreSQL.
 */
export const outliveReaders = (): void => {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
};

/** Writes a message for a person to standard error, so that standard output contains only results. */
export const say = (message: string): void => {
  process.stderr.write(`${printableLines(message)}\n`);
};

/** Writes results for a person to standard output. Line breaks in a result are escaped. */
export const print = (lines: readonly string[]): void => {
  for (const line of lines) process.stdout.write(`${printable(line)}\n`);
};

/** Maximum number of bytes that wait in the buffer of standard output for a slow reader. */
const MAX_UNREAD_BYTES = 1024 * 1024;

/**
 * Writes several lines of printable ASCII to standard output at once. Never waits for the reader.
 * @returns false if the lines were dropped because the reader is too far behind
 */
export const tryWriteLines = (lines: string): boolean => {
  if (process.stdout.writableLength > MAX_UNREAD_BYTES) return false;
  // Declared as latin1, the string is copied instead of encoded.
  process.stdout.write(lines, 'latin1');
  return true;
};

/** Writes a result for a program to standard output: one JSON value on one line. */
export const printJson = (value: unknown): void => {
  process.stdout.write(`${printableJson(JSON.stringify(value))}\n`);
};

/**
 * Returns at most the first `length` UTF-16 units of a text. A surrogate pair that would be split, and any other lone
 * surrogate, becomes U+FFFD, because PostgreSQL and strict JSON parsers reject lone surrogates.
 */
export const truncate = (text: string, length: number): string => text.slice(0, length).toWellFormed();

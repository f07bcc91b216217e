/**
 * Characters that a terminal obeys, or that make a text look like another one: control characters, what changes the
 * direction of writing, separators of lines and paragraphs, what has no width (tags and variation selectors included),
 * and halves of surrogate pairs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;
const INDENT = '    ';

/** A text on one line, each character that is not safe to show written as `\u{202E}`. */
export const printable = (text: string): string =>
  text.replace(UNPRINTABLE, (character) => `\\u{${character.codePointAt(0)!.toString(16).toUpperCase()}}`);

/** A text of several lines, such as a stack: what follows the first line is indented, so that it forges no other line. */
export const printableLines = (text: string): string =>
  text
    .split(/\r?\n/)
    .map((line, index) => printable(index === 0 || line.startsWith(INDENT) ? line : INDENT + line))
    .join('\n');

/** The same in JSON, where an escape is `\u202e` and the value stays what it is. */
export const printableJson = (json: string): string =>
  json.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, index) => {
      const unit = character.charCodeAt(index);
      return `\\u${unit.toString(16).padStart(4, '0')}`;
    }).join(''),
  );

/** Words for the person go to standard error, so that standard output holds results alone. */
export const say = (words: string): void => {
  process.stderr.write(`${printableLines(words)}\n`);
};

/** Results for a person. Each is one line, whatever it holds. */
export const print = (lines: readonly string[]): void => {
  for (const line of lines) process.stdout.write(`${printable(line)}\n`);
};

/** In bytes; what standard output was given and nobody has read. */
const MAX_UNREAD = 1024 * 1024;

/**
 * Lines of ASCII that hold nothing to escape, many at once. Never waits for the reader.
 * @returns false if so much is unread that they were not taken
 */
export const tryWriteLines = (lines: string): boolean => {
  if (process.stdout.writableLength > MAX_UNREAD) return false;
  // Said to be what it is, it is copied instead of encoded.
  process.stdout.write(lines, 'latin1');
  return true;
};

/** Results for a program: one value on one line. */
export const printJson = (value: unknown): void => {
  process.stdout.write(`${printableJson(JSON.stringify(value))}\n`);
};

/**
 * Memoizes the last two results of a function. Two results are enough, because parsing one content calls the function
 * repeatedly with two texts: the text as sent and the cleaned text.
 * @param compute a pure function
 */
export const memoizeLastTwo = <T>(compute: (text: string) => T): ((text: string) => T) => {
  let text: string | undefined;
  let result: T;
  let textBefore: string | undefined;
  let resultBefore: T;
  return (argument) => {
    if (argument === text) return result;
    if (argument === textBefore) return resultBefore;
    const found = compute(argument);
    textBefore = text;
    resultBefore = result;
    text = argument;
    result = found;
    return found;
  };
};

/**
 * Returns whether a text has a match, and remembers the last text without one. A link that a text carries is often the
 * end of the text, so that a chain of links is searched only once.
 * @param pattern a pattern that matches the same in every end of a text: it does not look back
 */
export const searchOnce = (pattern: RegExp): ((text: string) => boolean) => {
  let without = '';
  return (text) => {
    if (text === without.slice(-text.length)) return false;
    if (text.search(pattern) !== -1) return true;
    without = text;
    return false;
  };
};

/** Returns a test of one character by its code, and remembers the results. */
export const testByCode = (pattern: RegExp): ((code: number) => boolean) => {
  const results = new Uint8Array(0x1_00_00);
  return (code) => (results[code] ||= pattern.test(String.fromCharCode(code)) ? 2 : 1) === 2;
};

const IS_BROKEN = /%(?![0-9a-f]{2})/i;

/** Percent-decodes once. If an escape is invalid, only escapes of ASCII characters are decoded. */
export const decodeOnce = (text: string): string => {
  if (!text.includes('%')) return text;
  // The test is for speed, because an exception takes the time of thousands of characters.
  const whole = IS_BROKEN.test(text) ? undefined : unescaped(text);
  return whole ?? text.replace(/(?:%[2-7][0-9a-f])+/gi, decodeURIComponent);
};

/** Percent-decodes once. @returns undefined if an escape is broken or not UTF-8 */
export const unescaped = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
};

/** A line break that mail adds to its source. Behind the name of a parameter, the `=` is rather a part of the link. */
const SOFT_BREAK = /(?<![?&][\w.-]{1,64})=[ \t]*\r?\n/;
/** Codes of characters in the source of a mail. Without a line break it is a source only if a link follows the code. */
const CODES = /(?:=[\dA-F]{2})+/g;
const CODE_BEFORE_LINK = /=3D(?=["']?h[tx*_]{2}ps?(?::|%3a|=3a))/gi;

const EMPHASIS = /^\s{0,16}(\*{1,3}|~{1,2})(?=[^\s*~])/;

const mayBeEmphasized = testByCode(/[\s*~]/);

/** Removes the marks with which Markdown emphasizes a text: `**text**`. No asset begins and ends with them. */
const withoutEmphasis = (text: string): string => {
  // For speed, because hardly any text is emphasized.
  if (!mayBeEmphasized(text.charCodeAt(0))) return text;
  const [begin, mark] = EMPHASIS.exec(text) ?? [];
  const end = mark === undefined ? undefined : text.trimEnd();
  return end?.endsWith(mark!) === true ? end.slice(begin!.length, -mark!.length) : text;
};

/** Returns the text that was copied with marks of emphasis, or from the source of a mail. */
export const copiedText = (text: string): string => decodeMailSource(withoutEmphasis(text));

/** Decodes a text that was copied from the source of a mail (quoted-printable, RFC 2045, 6.7). */
const decodeMailSource = (text: string): string => {
  if (!text.includes('=')) return text;
  if (!text.includes('\n') || !SOFT_BREAK.test(text)) return text.replace(CODE_BEFORE_LINK, '=');
  const joined = text.replace(new RegExp(SOFT_BREAK, 'g'), '');
  return joined.replace(CODES, (codes) => Buffer.from(codes.replaceAll('=', ''), 'hex').toString());
};

/**
 * Characters that are trimmed at both ends: white space, control characters and invisible characters such as zero-width
 * and direction marks.
 */
const INVISIBLE = String.raw`\s\p{Cc}\p{Default_Ignorable_Code_Point}`;
const QUOTES = String.raw`"'\u0060\u00b4\u00ab\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u275b-\u275e\u300c-\u300f\uff02\uff07`;
const OPENING = String.raw`<(\[\{\u3008\u300a\u3010\uff08`;
/** Closing brackets and punctuation. */
const CLOSING = String.raw`>)\]\}\u3009\u300b\u3011\uff09.,;:!?*\u2026\u3001\u3002\uff0c`;

const isTrimmedLeft = testByCode(new RegExp(`[${INVISIBLE}${QUOTES}${OPENING}]`, 'u'));
const isTrimmedRight = testByCode(new RegExp(`[${INVISIBLE}${QUOTES}${CLOSING}]`, 'u'));

/** Removes white space, quotes, brackets and punctuation from both ends of a pasted text. */
export const trimPastedText = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && isTrimmedLeft(text.charCodeAt(from))) from += 1;
  // A pattern anchored at the end would take quadratic time on crafted texts.
  while (to > from && isTrimmedRight(text.charCodeAt(to - 1))) to -= 1;
  // The brackets of an IPv6 address are kept: one at the start that is not closed behind the text, and one at the end
  // that was opened inside the text.
  const opening = text.slice(0, from).indexOf('[');
  if (
    text[to] === ']' &&
    text.lastIndexOf('[', to) > text.lastIndexOf(']', to - 1) &&
    text.lastIndexOf('[', to) >= from
  )
    to += 1;
  return text.slice(opening === -1 || text.includes(']', to) ? from : opening, to);
};

/** Invisible characters, except the two joiners that some scripts need between letters. */
const SHAPELESS = new RegExp(String.raw`[\p{Default_Ignorable_Code_Point}--[\u200c\u200d]]+`, 'gv');
const hasShapeless = searchOnce(SHAPELESS);
/** For speed, because ASCII has no such characters. */
const isBeyondAscii = searchOnce(/[^\0-\x7f]/);
const hasBlankEntity = searchOnce(/&nbsp/);
const ENDS_BEYOND_ASCII = /^[^\0-\x7f]|[^\0-\x7f]$/;

/**
 * Removes characters that pasting may add to a text: the characters that `trimPastedText` removes at both ends, and
 * invisible characters anywhere.
 */
export const cleanPastedText = memoizeLastTwo((text) => {
  const trimmed = trimPastedText(hasBlankEntity(text) ? text.replace(/(?:&nbsp;?)+$/i, '') : text);
  return isBeyondAscii(trimmed) && hasShapeless(trimmed) ? trimmed.replace(SHAPELESS, '') : trimmed;
});

/**
 * Parses a text unchanged or, if the unchanged text cannot be parsed, after `cleanPastedText`. If the text begins or
 * ends with a non-ASCII character, only the cleaned text is parsed, because typographic quotes would be parsed as part
 * of a host name.
 */
export const parsePasted = <T>(text: string, read: (text: string) => T | undefined): T | undefined => {
  const cleaned = cleanPastedText(text);
  if (cleaned === text) return read(text);
  return (ENDS_BEYOND_ASCII.test(text) ? undefined : read(text)) ?? read(cleaned);
};

const INVISIBLE_CHARACTERS = /\p{Default_Ignorable_Code_Point}+/gu;

/**
 * Removes the invisible characters before the last of a sign, and composes the letters there: the name of an account on
 * a host, as in `name@host`.
 */
export const cleanUser = (text: string, sign: '@' | '*'): string => {
  const end = text.lastIndexOf(sign);
  const user = text.slice(0, Math.max(0, end));
  if (!isBeyondAscii(user)) return text;
  return user.replace(INVISIBLE_CHARACTERS, '').normalize('NFC') + text.slice(end);
};

/** Maximum length of a segment that is decoded, because no name is longer. */
const MAX_SEGMENT_LENGTH = 4_096;

/** Percent-decodes a path segment and trims it with `trimPastedText`. */
export const readSegment = (segment: string): string => {
  const decoded = segment.length > MAX_SEGMENT_LENGTH || !segment.includes('%') ? segment : unescaped(segment);
  return trimPastedText(decoded ?? segment);
};

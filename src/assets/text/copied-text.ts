import { remembered } from './remembered.js';

/** Blanks, control characters, and characters without a shape, such as zero-width and direction marks. */
const UNSEEN = String.raw`\s\p{Cc}\p{Default_Ignorable_Code_Point}`;
const QUOTES = String.raw`"'\u0060\u00b4\u00ab\u00bb\u2018-\u201f\u2032\u2033\u2039\u203a\u275b-\u275e\u300c-\u300f\uff02\uff07`;
const OPENING = String.raw`<(\[\{\u3008\u300a\u3010\uff08`;
/** Closing brackets, and the punctuation of the sentence around. */
const CLOSING = String.raw`>)\]\}\u3009\u300b\u3011\uff09.,;:!?\u2026\u3001\u3002\uff0c`;

const LEFT = new RegExp(`[${UNSEEN}${QUOTES}${OPENING}]`, 'u');
const RIGHT = new RegExp(`[${UNSEEN}${QUOTES}${CLOSING}]`, 'u');

/** By code: a pattern anchored at the end would be slow on texts made for it. */
const inAscii = (pattern: RegExp): readonly boolean[] =>
  Array.from({ length: 128 }, (_, code) => pattern.test(String.fromCharCode(code)));
const LEFT_ASCII = inAscii(LEFT);
const RIGHT_ASCII = inAscii(RIGHT);

/** Strips from both ends of a text what copying leaves there. */
export const trimCopied = (text: string): string => {
  let from = 0;
  let to = text.length;
  while (from < to && (LEFT_ASCII[text.charCodeAt(from)] ?? LEFT.test(text[from]!))) from += 1;
  while (to > from && (RIGHT_ASCII[text.charCodeAt(to - 1)] ?? RIGHT.test(text[to - 1]!))) to -= 1;
  // A bracket that is not closed at the end may begin an IPv6 address.
  const bracket = text.slice(0, from).indexOf('[');
  return text.slice(bracket === -1 || text.includes(']', to) ? from : bracket, to);
};

/** The two joiners, which some scripts need between letters, are kept. */
const SHAPELESS = /(?:(?![\u200c\u200d])\p{Default_Ignorable_Code_Point})+/gu;
const BEYOND_ASCII = /[^\0-\x7f]/;
const ENDS_BEYOND_ASCII = /^[^\0-\x7f]|[^\0-\x7f]$/;

/** A text without what copying left in it. */
export const withoutCopied = remembered((text) => {
  const trimmed = trimCopied(text);
  return BEYOND_ASCII.test(trimmed) ? trimmed.replace(SHAPELESS, '') : trimmed;
});

/**
 * Reads a text as it is or, if that fails, without what copying left in it: anything at the ends, and characters
 * without a shape anywhere. Typographic quotes are dropped at once, because a host name could have them.
 */
export const readCopied = <T>(text: string, read: (text: string) => T | undefined): T | undefined => {
  const cleaned = withoutCopied(text);
  if (cleaned === text) return read(text);
  return (ENDS_BEYOND_ASCII.test(text) ? undefined : read(text)) ?? read(cleaned);
};

/** No name is longer, so decoding it would be a waste. */
const LONGEST_SEGMENT = 4_096;

/** A segment of a path, decoded, without what copying left at its ends. */
export const readSegment = (segment: string): string => {
  if (!segment.includes('%') || segment.length > LONGEST_SEGMENT) return trimCopied(segment);
  try {
    return trimCopied(decodeURIComponent(segment));
  } catch {
    return trimCopied(segment);
  }
};

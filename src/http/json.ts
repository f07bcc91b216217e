import { isAscii, isUtf8 } from 'node:buffer';
import type { Work } from '../flow/turns.js';
import { Invalid } from '../errors.js';
import { limit } from '../limits.js';

/** Returns the same text as `JSON.stringify`, but yields after each item. */
export function* arrayJson(items: readonly unknown[]): Work<string> {
  const texts: string[] = [];
  for (const item of items) {
    texts.push(JSON.stringify(item));
    yield;
  }
  return `[${texts.join(',')}]`;
}

/** Limits on the structure of a JSON text. */
export interface JsonBounds {
  /** Maximum number of nesting levels. */
  readonly depth: number;
  /** Maximum number of values, including property names. */
  readonly values: number;
}

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks the limits of a JSON text while its bytes arrive. Parsing megabytes of brackets would take seconds and 100
 * times their memory. Does not check whether the text is valid JSON.
 */
export class JsonBoundsChecker {
  private depth = 0;
  private values = 1;
  private inString = false;
  private escaped = false;

  constructor(private readonly bounds: JsonBounds) {}

  /** Checks the next bytes. @throws Invalid at the first byte that exceeds a limit */
  watch(bytes: Uint8Array): void {
    // Local variables and an index loop, because this loop is most of the cost of reading a body.
    let { inString, escaped } = this;
    for (let i = 0; i < bytes.length; i += 1) {
      const byte = bytes[i]!;
      if (escaped) escaped = false;
      else if (byte === QUOTE) inString = !inString;
      else if (inString) escaped = byte === BACKSLASH;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.open();
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.depth -= 1;
      else if (byte === COMMA || byte === COLON) this.count();
    }
    this.inString = inString;
    this.escaped = escaped;
  }

  private open(): void {
    this.depth += 1;
    if (this.depth > this.bounds.depth) throw new Invalid(`The body nests deeper than ${this.bounds.depth} levels`);
    this.count();
  }

  private count(): void {
    this.values += 1;
    if (this.values > this.bounds.values) throw new Invalid(`The body has more than ${this.bounds.values} values`);
  }
}

/** The byte range of one JSON value in a body. The value is not parsed yet. */
interface JsonSlice {
  readonly from: number;
  readonly to: number;
  /** The limit that the value exceeds; undefined if the value may be parsed. */
  readonly excess: string | undefined;
}

/** The maximum number of values in a list, and the error for a longer list. */
export interface ListLimit {
  readonly max: number;
  readonly excess: () => Error;
}

/** A value parsed from a slice. */
interface ParsedJson {
  readonly json: unknown;
  /** Whether the text has escapes of U+0000 or of a surrogate, which PostgreSQL may be unable to store. */
  readonly suspicious: boolean;
}

/**
 * Maximum nesting depth of one event; valid events need 4. The memory of the parser and of later processing grows with
 * the depth.
 */
export const MAX_DEPTH = limit('levels of an event', 32, 'levels', 'event', 'the event is rejected');
/**
 * Maximum number of brackets, commas and colons outside strings in one event; valid events have at most 400. Millions
 * of empty values fit into 8 MiB and take seconds to parse; 10,000 take a millisecond.
 */
export const MAX_TOKENS = limit('parts of an event', 10_000, 'parts', 'event', 'the event is rejected');

/** Bytes that are scanned before other requests may run, in 1 to 2 ms. */
const BYTES_PER_SLICE = 512 * 1024;
/** Bytes of a string that are scanned one by one. For longer strings, `indexOf` is faster. */
const SHORT_STRING = 64;

const SUSPICIOUS = /\\u(?:0000|[dD][89a-fA-F])/;

const enum Kind {
  Other,
  Quote,
  Open,
  Close,
  Comma,
  Colon,
}
const KINDS = new Uint8Array(256);
for (const [characters, kind] of [
  ['"', Kind.Quote],
  ['[{', Kind.Open],
  [']}', Kind.Close],
  [',', Kind.Comma],
  [':', Kind.Colon],
] as const)
  for (const character of characters) KINDS[character.charCodeAt(0)] = kind;

const isBlank = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');

/** Returns the position after the byte order mark that a body may begin with. */
const beginOf = (body: Buffer): number =>
  body.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK.length : 0;

/** Returns the position of the first non-blank byte, or the end. */
const skipBlanks = (body: Buffer, from = beginOf(body)): number => {
  let at = from;
  while (at < body.length && isBlank(body[at]!)) at += 1;
  return at;
};

const notJson = (position: number): Invalid =>
  new Invalid(`The body is not JSON: unexpected character at byte ${position}`);

/**
 * Returns the position after the closing quote of the string that begins before `from`. If the string is not closed,
 * returns a position beyond the end.
 */
const endOfString = (body: Buffer, from: number): number => {
  for (let at = from; ;) {
    for (const shortEnd = Math.min(body.length, at + SHORT_STRING); at < shortEnd; at += 1) {
      const byte = body[at]!;
      if (byte === QUOTE) return at + 1;
      if (byte === BACKSLASH) at += 1;
    }
    const quote = body.indexOf(QUOTE, at);
    if (quote === -1) return body.length + 1;
    let before = quote - 1;
    while (before >= at && body[before] === BACKSLASH) before -= 1;
    at = quote + 1;
    if ((at - before) % 2 === 0) return at;
  }
};

/** The state of a scan, which may pause between slices. */
interface Scan {
  at: number;
  depth: number;
  tokens: number;
  excess: string | undefined;
  /** Start of the current value. */
  from: number;
  readonly slices: JsonSlice[];
}

const addSlice = (scan: Scan, to: number, list?: ListLimit): void => {
  if (scan.slices.length === list?.max) throw list.excess();
  scan.slices.push({ from: scan.from, to, excess: scan.excess });
  scan.from = to + 1;
  scan.excess = undefined;
};

/**
 * Scans a body up to `end` or a little further.
 * @returns whether the list has ended
 */
const scanTo = (body: Buffer, scan: Scan, end: number, list: ListLimit | undefined): boolean => {
  // Local variables, because this loop runs for every byte.
  let { at, depth, tokens } = scan;
  while (at < end) {
    const byte = body[at]!;
    const kind = KINDS[byte]!;
    at += 1;
    if (kind === Kind.Other) continue;
    if (kind === Kind.Quote) {
      at = endOfString(body, at);
      continue;
    }
    tokens += 1;
    if (kind === Kind.Open) {
      depth += 1;
      if (depth > MAX_DEPTH) scan.excess ??= `the event nests deeper than ${MAX_DEPTH} levels`;
    } else if (depth === 0 && list && kind !== Kind.Colon) {
      // A value is required except in an empty list.
      const isEmpty = kind === Kind.Close && scan.slices.length === 0 && skipBlanks(body, scan.from) === at - 1;
      if (!isEmpty) addSlice(scan, at - 1, list);
      tokens = 0;
      if (kind === Kind.Close) {
        const rest = byte === CLOSE_ARRAY ? skipBlanks(body, at) : at - 1;
        if (rest < body.length) throw notJson(rest);
        return true;
      }
    } else if (kind === Kind.Close) {
      depth -= 1;
      if (depth < 0) throw notJson(at - 1);
    }
    if (tokens > MAX_TOKENS) scan.excess ??= `the event has more than ${MAX_TOKENS} brackets, commas and colons`;
  }
  Object.assign(scan, { at, depth, tokens });
  return false;
};

/**
 * Finds the byte ranges of the values in a list, or of the single value in a body, by brackets and quotes only. A value
 * that is too deep or too large is therefore never parsed, and a list with too many values is rejected early. Yields
 * after each slice.
 * @param list given if the body is a list of values; its first non-blank byte must then be `[`
 * @throws Invalid if brackets do not match; the error of `list.excess` if the list has too many values
 */
export function* sliceJson(body: Buffer, list?: ListLimit): Work<JsonSlice[]> {
  const at = list ? skipBlanks(body) + 1 : beginOf(body);
  const scan: Scan = { at, from: at, depth: 0, tokens: 0, excess: undefined, slices: [] };
  for (;;) {
    if (scanTo(body, scan, Math.min(scan.at + BYTES_PER_SLICE, body.length), list)) return scan.slices;
    if (scan.at >= body.length) break;
    yield;
  }
  if (list || scan.depth > 0 || scan.at > body.length)
    throw new Invalid(`The body is not JSON: unexpected end at byte ${body.length}`);
  addSlice(scan, body.length);
  return scan.slices;
}

/**
 * Returns a parser for the values of the body.
 * @throws Invalid if the body is not UTF-8, or later if a value is not JSON
 */
export const parserOf = (body: Buffer): ((slice: Pick<JsonSlice, 'from' | 'to'>) => ParsedJson) => {
  if (!isUtf8(body)) throw new Invalid('The body is not UTF-8');
  // Decoding ASCII as latin1 is several times faster.
  const encoding = isAscii(body) ? 'latin1' : 'utf8';
  return ({ from, to }) => {
    const text = body.toString(encoding, from, to);
    try {
      return { json: JSON.parse(text) as unknown, suspicious: SUSPICIOUS.test(text) };
    } catch (error) {
      // The message of `JSON.parse` quotes the input, which must not appear in responses and logs.
      const position = /at position (\d+)/.exec((error as Error).message)?.[1];
      throw notJson(from + (position === undefined ? text.length : Buffer.byteLength(text.slice(0, Number(position)))));
    }
  };
};

/** Returns the first non-blank character after the byte order mark, if any; '' if there is none. */
export const firstCharacter = (body: Buffer): string => {
  const at = skipBlanks(body);
  return at < body.length ? String.fromCharCode(body[at]!) : '';
};

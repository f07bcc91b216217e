import { isAscii, isUtf8 } from 'node:buffer';
import { Invalid } from '../errors.js';
import type { Work } from '../flow/time-slices.js';

/** The byte range of one JSON value in a body, found by its brackets only. */
export interface JsonSlice {
  readonly from: number;
  readonly to: number;
  /** Why it must not be parsed. */
  readonly excess: string | undefined;
}

/** How many values a list may have, and the error to throw beyond. */
export interface ListLimit {
  readonly max: number;
  readonly excess: () => Error;
}

/** A value that was parsed from a slice. */
export interface ParsedJson {
  readonly json: unknown;
  /** Whether its text has escapes that may be U+0000 or half of a surrogate pair. */
  readonly suspicious: boolean;
}

/**
 * Nesting depth of one event; ours need 4. Memory of the parser, and of everything that processes the value, grows with
 * the depth.
 */
export const DEEPEST = 32;
/**
 * Brackets, commas and colons outside strings, per event; ours have at most 400. Millions of empty values fit into 8
 * MiB and take seconds to parse; this many take a millisecond.
 */
export const MAX_TOKENS = 10_000;

/** Bytes between two points where scanning may pause: a millisecond or two. */
const STRIDE = 512 * 1024;
/** Bytes of a string scanned one by one; beyond, a native search is faster. */
const SHORT_STRING = 64;

const SUSPICIOUS = /\\u(?:0000|[dD][89a-fA-F])/;

const [QUOTE, BACKSLASH, CLOSE_LIST] = [0x22, 0x5c, 0x5d];
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

/** The first non-blank byte, or the end. */
const afterBlanks = (body: Buffer, from: number): number => {
  let at = from;
  while (at < body.length && isBlank(body[at]!)) at += 1;
  return at;
};

export const notJson = (place?: number): Invalid =>
  new Invalid(`The body is not JSON${place === undefined ? '' : `: unexpected character at byte ${place}`}`);
/** The position after the closing quote of the string opened before `from`; beyond the end if it is not closed. */
const afterString = (body: Buffer, from: number): number => {
  for (let at = from; ;) {
    for (const near = Math.min(body.length, at + SHORT_STRING); at < near; at += 1) {
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

/** The state of a scan. */
interface Scan {
  at: number;
  depth: number;
  tokens: number;
  excess: string | undefined;
  /** Start of the current value. */
  from: number;
  readonly slices: JsonSlice[];
}

const take = (scan: Scan, to: number, list?: ListLimit): void => {
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
      at = afterString(body, at);
      continue;
    }
    tokens += 1;
    if (kind === Kind.Open) {
      depth += 1;
      if (depth > DEEPEST) scan.excess ??= `the event nests deeper than ${DEEPEST} levels`;
    } else if (depth === 0 && list && kind !== Kind.Colon) {
      // An empty list has no value; after a comma there must be one.
      const isEmpty = kind === Kind.Close && scan.slices.length === 0 && afterBlanks(body, scan.from) === at - 1;
      if (!isEmpty) take(scan, at - 1, list);
      tokens = 0;
      if (kind === Kind.Close) {
        const rest = byte === CLOSE_LIST ? afterBlanks(body, at) : at - 1;
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
 * Finds the values of a list, or the single value of a body, by brackets and quotes only. So no value that is too deep
 * or too large is ever parsed, each is parsed when its turn comes, and one value too many ends the scan. Yields after
 * each stride.
 * @param list given if the body is a list of values; its first non-blank byte must then be `[`
 * @throws Invalid if brackets do not match; what `list.excess` makes
 */
export function* sliceJson(body: Buffer, list?: ListLimit): Work<JsonSlice[]> {
  const at = list ? afterBlanks(body, 0) + 1 : 0;
  const scan: Scan = { at, from: at, depth: 0, tokens: 0, excess: undefined, slices: [] };
  for (;;) {
    if (scanTo(body, scan, Math.min(scan.at + STRIDE, body.length), list)) return scan.slices;
    if (scan.at >= body.length) break;
    yield;
  }
  if (list || scan.depth > 0 || scan.at > body.length)
    throw new Invalid(`The body is not JSON: unexpected end at byte ${body.length}`);
  take(scan, body.length);
  return scan.slices;
}

/** Returns a parser of the body's values, once the body is known to be UTF-8. @throws Invalid */
export const parserOf = (body: Buffer): ((slice: Pick<JsonSlice, 'from' | 'to'>) => ParsedJson) => {
  if (!isUtf8(body)) throw new Invalid('The body is not UTF-8');
  // Decoding ASCII as latin1 is several times faster.
  const encoding = isAscii(body) ? 'latin1' : 'utf8';
  return ({ from, to }) => {
    const text = body.toString(encoding, from, to);
    try {
      return { json: JSON.parse(text) as unknown, suspicious: SUSPICIOUS.test(text) };
    } catch (error) {
      // The parser's message quotes the input, which must not reach answers and logs.
      const place = /at position (\d+)/.exec((error as Error).message)?.[1];
      throw notJson(from + (place === undefined ? text.length : Buffer.byteLength(text.slice(0, Number(place)))));
    }
  };
};

/** The first non-blank character; '' if there is none. */
export const firstCharacter = (body: Buffer): string => {
  const at = afterBlanks(body, 0);
  return at < body.length ? String.fromCharCode(body[at]!) : '';
};

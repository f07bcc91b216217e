import { isIP } from 'node:net';
import { JSONParser } from '@streamparser/json';
import { parseLocation } from '../../assets/location.js';
import { ALLOWED, BLOCKED, type HostTable, HostTableBuilder } from './host-table.js';
import { FuzzyList } from './fuzzy-list.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { PATH_OF_ONE_HOST, readEntry } from './list-entry.js';
import { Yielder } from '../../flow/yielder.js';

export const FORMATS = ['plain', 'hosts', 'json', 'metamask', 'polkadot'] as const;
export type Format = (typeof FORMATS)[number];

/** Entries that name a page, on a host whose pages the list cannot tell apart. */
export interface UnusedPages {
  readonly count: number;
  /** The first ones, as written. */
  readonly examples: readonly string[];
}

/** A parsed list. */
export interface ListContent {
  readonly table: HostTable;
  readonly fuzzy?: FuzzyList;
  /** Entries that are a page or profile. */
  readonly pages: number;
  /** Entries left out: not a host, or a public suffix. */
  readonly refused: number;
  /** Left-out entries that name a page on a host with a single publisher. */
  readonly unusedPages: UnusedPages;
}

/** A list as a stream of bytes. */
export interface Body {
  readonly chunks: AsyncIterable<Buffer> | Iterable<Buffer>;
  /** Bytes. */
  readonly size: number;
}

/** The content is not a usable list. The message says why. */
export class ListRefused extends Error {}

/** Whether the format may name wallet addresses, pages and profiles besides hosts. */
export const isWide = (format: Format): boolean => format === 'plain' || format === 'json';

const SLICE = 16_384;
const MAX_LINE_LENGTH = 4_096;
const LINE_FEED = 0x0a;
const MAX_FUZZY = 1_000;
/** With more, all short names are within reach of each other, and the list would block hosts it never meant. */
const MAX_TOLERANCE = 5;
const DEFAULT_TOLERANCE = 3;

const MAX_EXAMPLES = 10;
const MAX_EXAMPLE = 120;
/** The type prefix of a page or profile; hosts and addresses have no capital letters before a colon. */
const PROFILE = /^[A-Z_]+:/;

/** Collects entries and counts the ones it leaves out. */
class Collector {
  readonly builder: HostTableBuilder;
  readonly turns = new Yielder();
  readonly unused: string[] = [];
  unusedCount = 0;
  pages = 0;
  refused = 0;

  constructor(
    private readonly suffixes: HostingSuffixes,
    private readonly wide: boolean,
    expectedBytes: number,
  ) {
    this.builder = new HostTableBuilder(expectedBytes);
  }

  take(entry: unknown, flags: number): void {
    const text = typeof entry === 'string' ? readEntry(entry, this.suffixes, this.wide) : undefined;
    if (typeof text === 'string') {
      if (PROFILE.test(text)) this.pages += 1;
      return this.builder.add(text, flags, (entry as string).trim());
    }
    this.refused += 1;
    if (text !== PATH_OF_ONE_HOST) return;
    this.unusedCount += 1;
    if (this.unused.length < MAX_EXAMPLES) this.unused.push((entry as string).trim().slice(0, MAX_EXAMPLE));
  }
}

/**
 * Parses a list in slices, so that requests are served in between.
 * @param verdict what being listed means, for formats that do not say it themselves
 * @throws ListRefused
 */
export const parseList = async (
  body: Body,
  format: Format,
  verdict: 'ALLOWED' | 'BLOCKED',
  suffixes: HostingSuffixes,
): Promise<ListContent> => {
  const collector = new Collector(suffixes, isWide(format), body.size);
  const flags = verdict === 'ALLOWED' ? ALLOWED : BLOCKED;
  let fuzzy: FuzzyList | undefined;
  if (format === 'plain') await eachLine(body, collector, (line) => takePlain(line, collector, flags));
  else if (format === 'hosts') await eachLine(body, collector, (line) => takeHosts(line, collector, flags));
  else if (format === 'json') await readArray(body, collector, flags);
  else if (format === 'metamask') fuzzy = await readMetamask(body, collector);
  else await readSections(body, collector, { deny: BLOCKED, allow: ALLOWED }, ['deny']);
  const table = await collector.builder.build(collector.turns);
  if (table.size === 0) throw new ListRefused('It has no usable entries');
  const { pages, refused, unused, unusedCount } = collector;
  return { table, fuzzy, pages, refused, unusedPages: { count: unusedCount, examples: unused } };
};

const takePlain = (line: string, collector: Collector, flags: number): void => {
  const entry = (line.includes('#') ? line.replace(/(?:^|\s)#.*$/, '') : line).trim();
  if (entry !== '') collector.take(entry, flags);
};

const takeHosts = (line: string, collector: Collector, flags: number): void => {
  const [address, ...names] = line.replace(/#.*$/, '').trim().split(/\s+/);
  if (address === undefined || address === '') return;
  if (isIP(address) === 0) collector.take(undefined, flags);
  else for (const name of names) collector.take(name, flags);
};

/** Passes on each line without its line break; a line too long to be an entry counts as left out. */
const eachLine = async (body: Body, collector: Collector, onLine: (line: string) => void): Promise<void> => {
  let first = true;
  const take = (bytes: Buffer, start: number, end: number): void => {
    if (end - start > MAX_LINE_LENGTH) {
      collector.refused += 1;
      return;
    }
    let line = bytes.toString('utf8', start, end);
    if (first) {
      line = line.replace(/^\uFEFF/, '');
      if (/^\s*<(?:!doctype|html|\?xml)/i.test(line)) throw new ListRefused('It is a web page, not a list');
      first = line.trim() === '';
    }
    onLine(line);
  };
  // The start of a line that ends in the next chunk.
  let rest = Buffer.alloc(0);
  for await (const chunk of body.chunks) {
    let start = 0;
    for (let end = chunk.indexOf(LINE_FEED); end !== -1; end = chunk.indexOf(LINE_FEED, start)) {
      if (rest.length > 0) {
        const line = Buffer.concat([rest, chunk.subarray(start, end)]);
        take(line, 0, line.length);
        rest = Buffer.alloc(0);
      } else {
        take(chunk, start, end);
      }
      start = end + 1;
      if (collector.turns.isOver()) await collector.turns.pass();
    }
    // One extra byte is enough to know that the line is too long.
    if (start < chunk.length && rest.length <= MAX_LINE_LENGTH)
      rest = Buffer.concat([rest, chunk.subarray(start, start + MAX_LINE_LENGTH + 1)]);
  }
  if (rest.length > 0) take(rest, 0, rest.length);
};

const hasByteOrderMark = (chunk: Uint8Array): boolean => chunk[0] === 0xef && chunk[1] === 0xbb && chunk[2] === 0xbf;

type OnValue = (value: unknown, path: readonly (string | number)[], parent: unknown) => void;

/** Parses JSON incrementally, one slice at a time, passing on values up to two levels deep. */
const parseJson = async (body: Body, root: '[' | '{', collector: Collector, onValue: OnValue): Promise<void> => {
  const parser = new JSONParser({
    paths: root === '[' ? ['$.*'] : ['$.*', '$.*.*'],
    keepStack: false,
    stringBufferSize: SLICE,
  });
  parser.onValue = ({ value, key, parent, stack }) => {
    onValue(value, [...stack.slice(1).map((level) => level.key!), key!], parent);
    // Frees the value, which the parser would keep until the end of its array.
    if (Array.isArray(parent)) (parent as unknown[])[key as number] = undefined;
  };
  try {
    let isFirst = true;
    for await (const chunk of body.chunks) {
      const begin = isFirst && hasByteOrderMark(chunk) ? 3 : 0;
      if (isFirst && !chunk.toString('utf8', begin, 64).trimStart().startsWith(root))
        throw new ListRefused(`It must be JSON beginning with ${root}`);
      isFirst = false;
      for (let start = begin; start < chunk.length; start += SLICE) {
        parser.write(chunk.subarray(start, start + SLICE));
        if (collector.turns.isOver()) await collector.turns.pass();
      }
    }
  } catch (error) {
    if (error instanceof ListRefused || (error as NodeJS.ErrnoException).code !== undefined) throw error;
    throw new ListRefused(`It is invalid JSON: ${(error as Error).message.slice(0, 200)}`);
  }
  if (!parser.isEnded) throw new ListRefused('It is invalid JSON: unexpected end');
};

const readArray = (body: Body, collector: Collector, flags: number): Promise<void> =>
  parseJson(body, '[', collector, (value) => collector.take(value, flags));

/** Reads an object of lists, ignoring unknown fields. */
const readSections = async (
  body: Body,
  collector: Collector,
  sections: Readonly<Record<string, number>>,
  oneOf: readonly string[],
  onOther: OnValue = () => undefined,
): Promise<void> => {
  const seen = new Set<string>();
  await parseJson(body, '{', collector, (value, path, parent) => {
    const [name] = path as [string];
    const flags = Object.hasOwn(sections, name) ? sections[name] : undefined;
    if (flags === undefined) return onOther(value, path, parent);
    if (path.length === 1) {
      if (!Array.isArray(value)) throw new ListRefused(`"${name}" must be an array`);
      seen.add(name);
    } else if (Array.isArray(parent)) collector.take(value, flags);
  });
  if (!oneOf.some((name) => seen.has(name))) throw new ListRefused(`It must have the array "${oneOf.join('" or "')}"`);
};

const readMetamask = async (body: Body, collector: Collector): Promise<FuzzyList | undefined> => {
  const hosts: string[] = [];
  let tolerance = DEFAULT_TOLERANCE;
  const sections = { blacklist: BLOCKED, blocklist: BLOCKED, whitelist: ALLOWED, allowlist: ALLOWED };
  await readSections(body, collector, sections, ['blacklist', 'blocklist'], (value, path, parent) => {
    if (path[0] === 'tolerance' && path.length === 1) {
      if (typeof value !== 'number' || !(value >= 0 && value <= MAX_TOLERANCE))
        throw new ListRefused(`"tolerance" must be a number from 0 to ${MAX_TOLERANCE}`);
      tolerance = value;
    }
    if (path[0] !== 'fuzzylist') return;
    if (path.length === 1 && !Array.isArray(value)) throw new ListRefused('"fuzzylist" must be an array');
    if (path.length !== 2 || !Array.isArray(parent)) return;
    const location = typeof value === 'string' ? parseLocation(value.trim()) : undefined;
    if (!location?.isName || location.rest !== '' || !location.host.includes('.')) collector.refused += 1;
    else if (hosts.push(location.host) > MAX_FUZZY)
      throw new ListRefused(`"fuzzylist" has more than ${MAX_FUZZY} hosts`);
  });
  return hosts.length > 0 && tolerance > 0 ? new FuzzyList(hosts, tolerance) : undefined;
};

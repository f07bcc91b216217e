import { isIP } from 'node:net';
import { type Body, Collector, ListRefused } from './collector.js';
import { ALLOWED, BLOCKED, type HostTable } from './host-table.js';
import type { FuzzyList } from './fuzzy-list.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { readArray, readMetamask, readSections } from './json-lists.js';

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

/** Whether the format may name wallet addresses, pages and profiles besides hosts. */
export const isWide = (format: Format): boolean => format === 'plain' || format === 'json';

const MAX_LINE_LENGTH = 4_096;
const LINE_FEED = 0x0a;
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

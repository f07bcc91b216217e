import { isIP } from 'node:net';
import { type Body, Collector, type Exemption, InvalidList } from './collector.js';
import { ALLOWED, BLOCKED, type HostTable } from './host-table.js';
import { type EntryKinds, describeRejected, type RejectedEntries } from './list-entry.js';
import { type FuzzyList, readArray, readMetamask, readObjectOfLists } from './json-list.js';
import {
  COMMENTS,
  dialectOf,
  type DialectName,
  type Dialect,
  DIALECT_NAMES,
  DIALECTS,
  WITH_PARENTHESES,
} from './dialects.js';
import { canonicalAddress } from '../../assets/ip-address.js';
import type { HostingSuffixes } from './hosting-suffixes.js';

/** Maximum length of a line in UTF-16 units; the rest of a longer line is ignored. */
const MAX_LINE_LENGTH = 65_536;
/** Bytes decoded before the event loop may serve other requests. */
const BYTES_PER_SLICE = 8_192;
/** Matches the end of a line. CR LF yields an additional empty line, which is skipped. */
const LINE_END = /[\r\n]/;
/** An HTML or XML element, comment or declaration. */
const MARKUP = /<(?:[!?]|\/?[a-z])/i;
/** At most one in ten lines may be unreadable. */
const UNREADABLE_SHARE = 10;

/** Matches the start of a comment, which is at the start of a line or after white space. */
const COMMENT = /(?:^|\s)[#!]/;
/** In a hosts file, a comment may begin anywhere. */
const HOSTS_COMMENT = /[#!]/;
/** At least so many lines, of which most are split by the same sign, are a table. */
const MIN_TABLE_LINES = 4;
const SEPARATORS = [',', ';', '|'] as const;

/** A record in more lines is read line by line. */
const MAX_RECORD_LINES = 16;
const QUOTED = /"[^"]*"/g;
/** Whether every parenthesis is closed. */
const isClosed = (text: string): boolean => {
  const signs = text.replace(QUOTED, '');
  return signs.split('(').length <= signs.split(')').length;
};

/**
 * Calls `onEntry` with the text of each line, or of each record in parentheses, without comment and surrounding white
 * space. Empty lines are skipped.
 * @param onEntry returns false if the text is unreadable
 * @throws InvalidList if the document has markup before the first entry, if more than a tenth of its lines are
 *   unreadable, or if nearly all of them are rows of a table
 */
export const forEachEntry = async (
  body: Body,
  format: 'plain' | 'hosts' | 'csv' | DialectName,
  collector: Collector,
  onEntry: (text: string) => boolean,
): Promise<void> => {
  const comment = { plain: COMMENT, csv: COMMENT, hosts: HOSTS_COMMENT, ...COMMENTS }[format];
  const split = new Map<string, number>();
  let texts = 0;
  let unreadable = 0;
  const takeText = (text: string, isCut = false): void => {
    if (collector.builder.isEmpty && MARKUP.test(text)) throw new InvalidList('The document is a web page, not a list');
    texts += 1;
    for (const sign of SEPARATORS) if (text.includes(sign)) split.set(sign, (split.get(sign) ?? 0) + 1);
    if (isCut) collector.reject('too-long', text);
    else if (onEntry(text)) return;
    unreadable += 1;
  };
  /** The lines of a record that is not closed yet. */
  let begun: string[] = [];
  const takeBegun = (): void => {
    const whole = begun.join(' ');
    const lines = isClosed(whole) ? [whole.replace(/[()]/g, ' ').trim()] : begun;
    begun = [];
    for (const text of lines) takeText(text);
  };
  const take = (line: string): void => {
    const end = line.search(comment);
    const text = (end === -1 ? line : line.slice(0, end)).trim();
    if (text === '') return;
    // A line that is too long is accepted if it is cut within a comment.
    const isCut = line.length >= MAX_LINE_LENGTH && end === -1;
    if (isCut || !WITH_PARENTHESES.has(format) || (begun.length === 0 && !text.includes('(')))
      return takeText(text, isCut);
    begun.push(text);
    if (begun.length === MAX_RECORD_LINES || isClosed(begun.join(' '))) takeBegun();
  };
  const decoder = new TextDecoder();
  let rest = '';
  const read = (decoded: string): void => {
    const lines = decoded.split(LINE_END);
    lines[0] = rest + lines[0]!;
    rest = lines.pop()!.slice(0, MAX_LINE_LENGTH);
    for (const line of lines) take(line.length > MAX_LINE_LENGTH ? line.slice(0, MAX_LINE_LENGTH) : line);
  };
  for await (const chunk of body.chunks) {
    for (let start = 0; start < chunk.length; start += BYTES_PER_SLICE) {
      read(decoder.decode(chunk.subarray(start, start + BYTES_PER_SLICE), { stream: true }));
      if (collector.cooperativeYield.isDue()) await collector.cooperativeYield.yieldNow();
    }
  }
  read(`${decoder.decode()}\n`);
  if (begun.length > 0) takeBegun();
  const { examples = [] } = collector.rejected.find(({ reason }) => reason === 'unreadable') ?? {};
  const dialect = dialectOf(examples);
  const seen = dialect === undefined ? '' : `; the lines look like ${dialect}`;
  if (!collector.builder.isEmpty && unreadable * UNREADABLE_SHARE > texts)
    throw new InvalidList(`${unreadable} of ${texts} lines cannot be read, so the document is not a list${seen}`);
  if (collector.builder.isEmpty && seen !== '')
    throw new InvalidList(
      `The list has no usable entries${seen}: ${collector.rejected.map(describeRejected).join(', ')}`,
    );
  if (
    format === 'plain' &&
    texts >= MIN_TABLE_LINES &&
    Math.max(...split.values()) * UNREADABLE_SHARE > (UNREADABLE_SHARE - 1) * texts
  )
    throw new InvalidList('The document is a table (CSV), not a list: give one entry per line');
};

export const LIST_FORMATS = ['plain', 'hosts', 'json', 'metamask', 'polkadot', ...DIALECT_NAMES] as const;
export const GUARD_FORMATS = ['plain', 'csv'] as const;
export type Format = (typeof LIST_FORMATS | typeof GUARD_FORMATS)[number];
/** What the entries of a list do, in formats without a verdict per entry. The entries of a guard are GUARDED. */
export type EntryVerdict = 'ALLOWED' | 'BLOCKED' | 'GUARDED';

/** A parsed list. */
export interface ListContent {
  readonly table: HostTable;
  readonly fuzzy?: FuzzyList;
  /** Number of entries for a page, a profile or IPFS content. */
  readonly pages: number;
  /** The lengths of the prefixes of the listed ranges of addresses, longest first. */
  readonly prefixes: readonly number[];
  /** Of a guard: the domains above its hosts, which would block these hosts too. */
  readonly above: HostTable;
  readonly rejected: readonly RejectedEntries[];
  /** Number of rules for exactly one host. */
  readonly exact: number;
  /** Exemptions of the hosts whose names a pattern matches. */
  readonly exemptions: readonly Exemption[];
}

const isDialect = (format: Format): format is DialectName => Object.hasOwn(DIALECTS, format);

/** The kinds of assets that entries of a format may name in addition to hosts. */
export const kindsOf = (format: Format): EntryKinds => ({
  pages: format !== 'hosts' && !isDialect(format),
  accounts: format === 'plain' || format === 'json',
});

/**
 * A line with a rank and a host, such as `1,x.example`. What surrounds the host has no character in common with the host,
 * so that a line with very much white space is read in linear time.
 */
const RANKED = /^\d+\s*,[\s"]*([^\s",]+)[\s"]*(?:,|$)/;
/** Addresses that a hosts file uses to block a name. */
const BLOCKING_ADDRESS = /^(?:0\.0\.0\.0|127\.\d+\.\d+\.\d+|::1?)$/;

/**
 * Parses a list in slices, so that the event loop can serve other requests in between.
 * @throws InvalidList if the list has no usable entries, or if the document is not a list
 */
export const parseList = async (
  body: Body,
  format: Format,
  verdict: EntryVerdict,
  suffixes: HostingSuffixes,
): Promise<ListContent> => {
  const collector = new Collector(suffixes, kindsOf(format), body.size, verdict === 'GUARDED');
  const flags = verdict === 'ALLOWED' ? ALLOWED : BLOCKED;
  let fuzzy: FuzzyList | undefined;
  if (format === 'plain')
    await forEachEntry(body, format, collector, (text) => collector.take(text, flags) !== 'unreadable');
  else if (format === 'hosts')
    await forEachEntry(body, format, collector, (text) => addHostsLine(text, collector, flags));
  else if (format === 'csv') await forEachEntry(body, format, collector, (text) => addRanked(text, collector, flags));
  else if (isDialect(format)) await readDialect(body, format, collector, flags);
  else if (format === 'json') await readArray(body, collector, flags);
  else if (format === 'metamask') fuzzy = await readMetamask(body, collector);
  else await readObjectOfLists(body, collector, { deny: BLOCKED, denySub: BLOCKED, allow: ALLOWED }, ['deny']);
  const table = await collector.builder.build(collector.cooperativeYield);
  if (table.size === 0) {
    const reasons = collector.rejected.map(describeRejected).join(', ');
    throw new InvalidList(`The list has no usable entries${reasons && `: ${reasons}`}`);
  }
  const prefixes = [...collector.prefixes].toSorted((a, b) => b - a);
  const above = await collector.above.build(collector.cooperativeYield);
  const { pages, exact, exemptions, rejected } = collector;
  return { table, above, fuzzy, pages, prefixes, rejected, exact, exemptions };
};

/** Reads a line of a list with ranks. */
const addRanked = (text: string, collector: Collector, flags: number): boolean => {
  const host = RANKED.exec(text)?.[1];
  return (host === undefined ? collector.reject('unreadable', text) : collector.take(host, flags)) !== 'unreadable';
};

/**
 * Reads a line of a hosts file. A line whose address is not a blocking address redirects its names, and is rejected.
 */
const addHostsLine = (text: string, collector: Collector, flags: number): boolean => {
  const [address = '', ...names] = text.split(/\s+/);
  if (isIP(address) === 0 && address !== '0') {
    collector.reject('unreadable', text);
    return false;
  }
  if (!isBlocking(address)) {
    collector.reject('redirect', text);
    return true;
  }
  // `;` and `//` are the comment marks of other formats. Words after such a mark are not names to block.
  const comment = names.findIndex((name) => /^(?:;|\/\/$)/.test(name));
  if (comment !== -1) collector.reject('unreadable', text);
  const blocked = comment === -1 ? names : names.slice(0, comment);
  const rejections = blocked.map((name) => collector.take(name, flags));
  return blocked.length === 0 || rejections.some((rejection) => rejection !== 'unreadable');
};

const isBlocking = (address: string): boolean =>
  address === '0' || BLOCKING_ADDRESS.test(canonicalAddress(address) ?? '');

const readDialect = async (body: Body, format: DialectName, collector: Collector, flags: number): Promise<void> => {
  let zone: string | undefined;
  await forEachEntry(body, format, collector, (text) =>
    addDialectLine(text, DIALECTS[format], collector, flags, (named) => (zone ??= named)),
  );
};

/** A name with a `*` anywhere else than in `*.` at its start, which stands for the hosts below in every format. */
const IS_PATTERN = /^(?!\*\.[^*]*$).*\*/;

/**
 * Reads a line of a dialect. What a line exempts never blocks: in a list whose entries are ALLOWED, it is not supported.
 */
const addDialectLine = (
  text: string,
  { lines }: Dialect,
  collector: Collector,
  flags: number,
  zoneOf: (named: string | undefined) => string | undefined,
): boolean => {
  for (const [form, action, rank = 0] of lines) {
    const found = form.exec(text);
    if (found === null) continue;
    const { names = '', to, zone: named, exactly } = found.groups ?? {};
    const isExact = exactly !== undefined && !names.startsWith('*.');
    const zone = zoneOf(named?.toLowerCase());
    const end = zone === undefined ? '' : `.${zone}.`;
    if (action === 'ignore') return true;
    // A line that cancels others adds nothing, so it is also counted with the lines that are not supported.
    if (action === 'cancel' && !IS_PATTERN.test(names)) collector.take(names, 0, undefined, rank, isExact);
    if (action === 'unsupported' || action === 'cancel' || (action === 'allow' && flags === ALLOWED))
      collector.reject('unsupported', text);
    else if (to !== undefined && !isBlocking(to)) collector.reject('redirect', text);
    else {
      const hosts = names.toLowerCase().endsWith(end) ? names.slice(0, names.length - end.length) : names;
      const taken = hosts.split('/').map((name) => {
        if (action !== 'allow') return collector.take(name, flags, undefined, rank, isExact);
        return IS_PATTERN.test(name)
          ? collector.exempt(name, rank, isExact)
          : collector.take(name, ALLOWED, undefined, rank, isExact);
      });
      return taken.some((rejection) => rejection !== 'unreadable');
    }
    return true;
  }
  return /\s/.test(text) ? addHostsLine(text, collector, flags) : collector.take(text, flags) !== 'unreadable';
};

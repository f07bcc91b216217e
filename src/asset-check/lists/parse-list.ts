import { isIP } from 'node:net';
import { canonicalAddress } from '../../assets/ip-address.js';
import { type Body, Collector, InvalidList } from './collector.js';
import { type Dialect, DIALECT_NAMES, type DialectName, DIALECTS } from './dialects.js';
import { ALLOWED, BLOCKED, type HostTable } from './host-table.js';
import type { FuzzyList } from './fuzzy-list.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { readArray, readMetamask, readObjectOfLists } from './json-lists.js';
import type { EntryKinds, RejectedEntries } from './list-entry.js';
import { forEachEntry } from './list-lines.js';

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
}

const isDialect = (format: Format): format is DialectName => Object.hasOwn(DIALECTS, format);

/** The kinds of assets that entries of a format may name in addition to hosts. */
export const kindsOf = (format: Format): EntryKinds => ({
  pages: format !== 'hosts' && !isDialect(format),
  accounts: format === 'plain' || format === 'json',
});

/** A line with a rank and a host, such as `1,x.example`. */
const RANKED = /^\d+\s*,\s*"?([^",]+)"?\s*(?:,|$)/;
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
  else if (isDialect(format))
    await forEachEntry(body, format, collector, (text) => addDialectLine(text, DIALECTS[format], collector, flags));
  else if (format === 'json') await readArray(body, collector, flags);
  else if (format === 'metamask') fuzzy = await readMetamask(body, collector);
  else await readObjectOfLists(body, collector, { deny: BLOCKED, denySub: BLOCKED, allow: ALLOWED }, ['deny']);
  const table = await collector.builder.build(collector.cooperativeYield);
  if (table.size === 0) throw new InvalidList('The list has no usable entries');
  const prefixes = [...collector.prefixes].toSorted((a, b) => b - a);
  const above = await collector.above.build(collector.cooperativeYield);
  return { table, above, fuzzy, pages: collector.pages, prefixes, rejected: collector.rejected };
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

/**
 * Reads a line of a dialect. What a line exempts never blocks: in a list whose entries are ALLOWED, it is not supported.
 */
const addDialectLine = (text: string, { lines }: Dialect, collector: Collector, flags: number): boolean => {
  for (const [form, action] of lines) {
    const found = form.exec(text);
    if (found === null) continue;
    const { names = '', to } = found.groups ?? {};
    if (action === 'ignore') return true;
    if (action === 'unsupported' || (action === 'allow' && flags === ALLOWED)) collector.reject('unsupported', text);
    else if (to !== undefined && !isBlocking(to)) collector.reject('redirect', text);
    else {
      const taken = names.split('/').map((name) => collector.take(name, action === 'allow' ? ALLOWED : flags));
      return taken.some((rejection) => rejection !== 'unreadable');
    }
    return true;
  }
  return /\s/.test(text) ? addHostsLine(text, collector, flags) : collector.take(text, flags) !== 'unreadable';
};

import { isIP } from 'node:net';
import { simplestAddress } from '../../assets/ip-address.js';
import { type Body, Collector, ListRefused } from './collector.js';
import { ALLOWED, BLOCKED, type HostTable } from './host-table.js';
import type { FuzzyList } from './fuzzy-list.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { readArray, readMetamask, readSections } from './json-lists.js';
import type { EntryKinds, RejectedEntries } from './list-entry.js';
import { eachText } from './list-lines.js';

export const FORMATS = ['plain', 'hosts', 'json', 'metamask', 'polkadot'] as const;
export type Format = (typeof FORMATS)[number];

/** A parsed list. */
export interface ListContent {
  readonly table: HostTable;
  readonly fuzzy?: FuzzyList;
  /** Entries that are a page, a profile or IPFS content. */
  readonly pages: number;
  readonly rejected: readonly RejectedEntries[];
}

/** What entries of a format may be besides hosts. */
export const kindsOf = (format: Format): EntryKinds => ({
  pages: format !== 'hosts',
  accounts: format === 'plain' || format === 'json',
});

const NOWHERE = /^(?:0\.0\.0\.0|127\.\d+\.\d+\.\d+|::1?)$/;

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
  const collector = new Collector(suffixes, kindsOf(format), body.size);
  const flags = verdict === 'ALLOWED' ? ALLOWED : BLOCKED;
  let fuzzy: FuzzyList | undefined;
  if (format === 'plain')
    await eachText(body, format, collector, (text) => collector.take(text, flags) !== 'unreadable');
  else if (format === 'hosts') await eachText(body, format, collector, (text) => takeHosts(text, collector, flags));
  else if (format === 'json') await readArray(body, collector, flags);
  else if (format === 'metamask') fuzzy = await readMetamask(body, collector);
  else await readSections(body, collector, { deny: BLOCKED, denySub: BLOCKED, allow: ALLOWED }, ['deny']);
  const table = await collector.builder.build(collector.turns);
  if (table.size === 0) throw new ListRefused('It has no usable entries');
  return { table, fuzzy, pages: collector.pages, rejected: collector.rejected };
};

/** A line leads to nowhere, which blocks, or to another address, which a DNS server or browser goes to instead. */
const takeHosts = (text: string, collector: Collector, flags: number): boolean => {
  const [address = '', ...names] = text.split(/\s+/);
  if (isIP(address) === 0) {
    collector.reject('unreadable', text);
    return false;
  }
  if (!NOWHERE.test(simplestAddress(address) ?? '')) {
    collector.reject('redirect', text);
    return true;
  }
  // Marks of comments in other formats: the names after one may be anybody's.
  const comment = names.findIndex((name) => /^(?:;|\/\/$)/.test(name));
  if (comment !== -1) collector.reject('unreadable', text);
  const blocked = comment === -1 ? names : names.slice(0, comment);
  const rejections = blocked.map((name) => collector.take(name, flags));
  return blocked.length === 0 || rejections.some((rejection) => rejection !== 'unreadable');
};

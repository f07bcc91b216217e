import { type ParentPage, parentPages } from '../../assets/parent-pages.js';
import type { ParsedContent } from '../../assets/parse-content.js';
import { FAILED, hosted, NOT_FOUND, type Opinion, UNSUPPORTED } from '../opinion.js';
import { ALLOWED, BLOCKED, MAX_ENTRY_LENGTH, ofBelow, ofItself } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type Format, kindsOf, type ListContent } from './parse-list.js';
import { hashOfText, type SuffixHashes } from './suffix-hashes.js';

/** The text whose suffix hashes a list is queried with: the host or the account. */
export const lookupText = (reading: ParsedContent): string => reading.account ?? reading.host ?? '';

const statusOf = (flags: number): 'ALLOWED' | 'BLOCKED' => (flags & ALLOWED ? 'ALLOWED' : 'BLOCKED');

/**
 * A list's opinion.
 * @param content undefined if the list was never read
 * @param hashes of `lookupText(reading)`
 */
export const matchList = (
  content: ListContent | undefined,
  format: Format,
  reading: ParsedContent,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion => {
  const { account, host } = reading;
  if (account !== undefined) {
    if (!kindsOf(format).accounts) return UNSUPPORTED;
    return content === undefined ? FAILED : ofPayment(reading, content, hashes);
  }
  const hasPages = content !== undefined && content.pages > 0;
  const served = hasPages ? ofServedContent(reading, content) : undefined;
  if (served !== undefined) return served;
  const page = hasPages ? ofPage(reading, content, format, hashes, suffixes) : undefined;
  if (page !== undefined && (format !== 'metamask' || reading.isSharedHost)) return page;
  if (host === undefined) return hasPages ? NOT_FOUND : UNSUPPORTED;
  if (content === undefined) return FAILED;
  if (findAll(host, content, hashes) === 0) return page ?? unlistedOpinion(host, content, format, reading);
  if (reading.isSharedHost) return sharedHostOpinion(host, content, hashes);
  const opinion =
    format === 'metamask'
      ? metamaskOpinion(reading, page, content, hashes, suffixes)
      : (matchNearest(ALLOWED | BLOCKED, host, content, hashes, suffixes) ?? NOT_FOUND);
  return reading.isAtHost ? inherited(opinion, host, suffixes) : opinion;
};

const ofAccount = (account: string, { table }: ListContent, hash: number): Opinion => {
  const flags = table.find(account, 0, hash);
  return flags === 0 ? NOT_FOUND : { status: statusOf(flags), match: table.writtenAs(account, 0, hash) };
};

/**
 * A block of the other account that a payment involves decides, then an entry of the account's own tag, then one of the
 * whole account.
 */
const ofPayment = ({ account, involved, name }: ParsedContent, content: ListContent, hashes: SuffixHashes): Opinion => {
  const other = involved === undefined ? undefined : ofAccount(involved, content, hashOfText(involved));
  if (other?.status === 'BLOCKED') return other;
  const tag = name === account ? NOT_FOUND : ofAccount(name, content, hashOfText(name));
  return tag === NOT_FOUND ? ofAccount(account!, content, hashes.hashes[0]!) : tag;
};

const PAGE = 'PAGE:';
const URL_KEY = 'URL:';
const IPFS = 'IPFS:';
/** A page's entry may name this many hosts: the page's own and those above (as Safe Browsing's expressions). */
const MAX_PAGE_HOSTS = 5;

/** What the table says of a page, a profile or IPFS content. */
const findKey = (
  key: string,
  { table }: ListContent,
  isBelow = false,
): (Pick<Opinion, 'match'> & { status: 'ALLOWED' | 'BLOCKED' }) | undefined => {
  if (key.length > MAX_ENTRY_LENGTH) return undefined;
  const hash = hashOfText(key);
  const found = table.find(key, 0, hash);
  const flags = isBelow ? ofBelow(found) : ofItself(found);
  if (flags === 0) return undefined;
  const match = table.writtenAs(key, 0, hash);
  return { status: statusOf(flags), match: match === key ? key.slice(key.indexOf(':') + 1) : match };
};

/** Of IPFS content, whichever gateway serves it. */
const ofServedContent = ({ keys }: ParsedContent, content: ListContent): Opinion | undefined => {
  const key = keys.find((candidate) => candidate.startsWith(IPFS));
  return key === undefined ? undefined : findKey(key, content);
};

/** Of a page or profile, if the list has it, or a page above it. */
const ofPage = (
  reading: ParsedContent,
  content: ListContent,
  format: Format,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion | undefined => {
  for (const key of reading.keys) {
    const exact = key.startsWith(URL_KEY) ? undefined : findKey(key, content);
    if (exact !== undefined) return exact;
  }
  const above = parentPages(reading);
  for (const { key, place } of above) {
    const found = findKey(key, content);
    if (found !== undefined) return { ...found, reason: 'parent-domain', place };
  }
  // MetaMask's detector compares whole hosts, and a shared host is nobody's subdomain.
  if (format === 'metamask' || reading.isSharedHost || !reading.isDnsName) return undefined;
  return ofPageAboveHost(reading, above, content, hashes, suffixes);
};

/** Of a page whose path is listed for a host above its own. */
const ofPageAboveHost = (
  { keys, host = '' }: ParsedContent,
  above: readonly ParentPage[],
  content: ListContent,
  { count, starts }: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion | undefined => {
  const own = keys[0]!;
  if (!own.startsWith(PAGE) || count < 2) return undefined;
  const pages = [own, ...above.map(({ key }) => key).filter((key) => key.startsWith(PAGE))];
  const { length } = suffixes.boundaryOf(host).suffix;
  for (let index = count - 2; index >= Math.max(0, count - MAX_PAGE_HOSTS); index -= 1) {
    const start = starts[index]!;
    if (host.length - start <= length) return undefined;
    for (const page of pages) {
      const key = PAGE + page.slice(PAGE.length + start);
      const found = findKey(key, content, true);
      if (found !== undefined) return { ...found, reason: 'parent-domain', place: key.length - PAGE.length };
    }
  }
  return undefined;
};

/** A host's opinion, as inherited by pages and addresses on it. */
const inherited = (opinion: Opinion, host: string, suffixes: HostingSuffixes): Opinion => {
  if (opinion.status === 'UNKNOWN' || opinion.reason === 'parent-domain') return opinion;
  if (host.length <= suffixes.boundaryOf(host).suffix.length) return hosted(opinion.match!);
  return { ...opinion, reason: 'parent-domain', place: host.length };
};

/**
 * Notes what is listed of the host itself, and of each host above what also covers the hosts below.
 * @returns 0 if nothing is listed, which is the common case
 */
const findAll = (
  host: string,
  { table }: ListContent,
  { count, starts, hashes, flags: found }: SuffixHashes,
): number => {
  let any = 0;
  for (let index = 0; index < count; index += 1) {
    const flags = table.find(host, starts[index]!, hashes[index]!);
    found[index] = index === count - 1 ? ofItself(flags) : ofBelow(flags);
    any |= found[index]!;
  }
  return any;
};

const unlistedOpinion = (
  host: string,
  { fuzzy, pages }: ListContent,
  format: Format,
  reading: ParsedContent,
): Opinion => {
  if (reading.isSharedHost) return pages > 0 ? NOT_FOUND : UNSUPPORTED;
  // A page or address on a host does not imitate anything by itself.
  const imitated = format === 'metamask' && !reading.isAtHost ? fuzzy?.find(host) : undefined;
  return imitated === undefined ? NOT_FOUND : { status: 'BLOCKED', match: imitated, isImitation: true };
};

const written = (host: string, index: number, { table }: ListContent, { starts, hashes }: SuffixHashes): string =>
  table.writtenAs(host, starts[index]!, hashes[index]!);

/** Of a page or profile on a shared host, about which a list of hosts says nothing, even if it lists the host. */
const sharedHostOpinion = (host: string, content: ListContent, hashes: SuffixHashes): Opinion => {
  let nearest = hashes.count - 1;
  while (hashes.flags[nearest] === 0) nearest -= 1;
  return hosted(written(host, nearest, content, hashes));
};

/**
 * An exact entry beats an inherited one, a nearer one a farther one, and ALLOWED beats BLOCKED at the same level.
 * @returns undefined if no wanted entry matches
 */
const matchNearest = (
  wanted: number,
  host: string,
  content: ListContent,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion | undefined => {
  const { count, starts, flags: found } = hashes;
  const exact = found[count - 1]! & wanted;
  if (exact !== 0) return { status: statusOf(exact), match: written(host, count - 1, content, hashes) };
  for (let index = count - 2; index >= 0; index -= 1) {
    const flags = found[index]! & wanted;
    if (flags === 0) continue;
    const match = written(host, index, content, hashes);
    const place = host.length - starts[index]!;
    // Under a hosting or public suffix, an entry is valid for that name only.
    if (place <= suffixes.boundaryOf(host).suffix.length) return hosted(match);
    return { status: statusOf(flags), reason: 'parent-domain', match, place };
  }
  return undefined;
};

/**
 * As MetaMask's detector decides: allowed hosts first, then blocked hosts and pages, all with everything under them, then
 * imitations.
 */
const metamaskOpinion = (
  reading: ParsedContent,
  page: Opinion | undefined,
  content: ListContent,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion => {
  const host = reading.host!;
  const allowed = matchNearest(ALLOWED, host, content, hashes, suffixes);
  if (allowed?.status === 'ALLOWED') return allowed;
  if (page !== undefined) return page;
  const blocked = matchNearest(BLOCKED, host, content, hashes, suffixes);
  if (blocked?.status === 'BLOCKED') return blocked;
  const alike = unlistedOpinion(host, content, 'metamask', reading);
  return alike.status === 'BLOCKED' ? alike : (blocked ?? allowed ?? NOT_FOUND);
};

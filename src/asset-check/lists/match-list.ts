import { parentPages } from '../../assets/parent-pages.js';
import type { ParsedContent } from '../../assets/parse-content.js';
import { FAILED, hosted, NOT_FOUND, type Opinion, UNSUPPORTED } from '../opinion.js';
import { ALLOWED, BLOCKED, MAX_ENTRY_LENGTH } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type Format, isWide, type ListContent } from './parse-list.js';
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
    if (!isWide(format)) return UNSUPPORTED;
    return content === undefined ? FAILED : ofPayment(reading, content, hashes);
  }
  const page = content === undefined || content.pages === 0 ? undefined : ofPage(reading, content);
  if (page !== undefined) return page;
  if (host === undefined) return content?.pages ? NOT_FOUND : UNSUPPORTED;
  if (content === undefined) return FAILED;
  if (findAll(host, content, hashes) === 0) return unlistedOpinion(host, content, format, reading);
  if (reading.isSharedHost) return sharedHostOpinion(host, content, hashes);
  const opinion =
    format === 'metamask'
      ? metamaskOpinion(reading, content, hashes, suffixes)
      : (matchNearest(ALLOWED | BLOCKED, host, content, hashes, suffixes) ?? NOT_FOUND);
  return reading.isAtHost ? inherited(opinion, host, suffixes) : opinion;
};

const ofAccount = (account: string, { table }: ListContent, hash: number): Opinion => {
  const flags = table.find(account, 0, hash);
  return flags === 0 ? NOT_FOUND : { status: statusOf(flags), match: table.writtenAs(account, 0, hash) };
};

/** A block of the other account that a payment involves decides. */
const ofPayment = ({ account, involved }: ParsedContent, content: ListContent, hashes: SuffixHashes): Opinion => {
  const other = involved === undefined ? undefined : ofAccount(involved, content, hashOfText(involved));
  return other?.status === 'BLOCKED' ? other : ofAccount(account!, content, hashes.hashes[0]!);
};

/** Of a page or profile, if the list has any. */
const ofPage = (reading: ParsedContent, { table }: ListContent): Opinion | undefined => {
  if (reading.type === 'URL') return undefined;
  const find = (key: string): Opinion | undefined => {
    if (key.length > MAX_ENTRY_LENGTH) return undefined;
    const hash = hashOfText(key);
    const flags = table.find(key, 0, hash);
    return flags === 0 ? undefined : { status: statusOf(flags), match: table.writtenAs(key, 0, hash) };
  };
  for (const key of reading.keys) {
    const exact = find(key);
    if (exact !== undefined) return exact;
  }
  for (const { key, place } of parentPages(reading)) {
    const above = find(key);
    if (above !== undefined) return { ...above, reason: 'parent-domain', place };
  }
  return undefined;
};

/** A host's opinion, as inherited by pages and addresses on it. */
const inherited = (opinion: Opinion, host: string, suffixes: HostingSuffixes): Opinion => {
  if (opinion.status === 'UNKNOWN' || opinion.reason === 'parent-domain') return opinion;
  if (host.length <= suffixes.boundaryOf(host).suffix.length) return hosted(opinion.match!);
  return { ...opinion, reason: 'parent-domain', place: host.length };
};

/** @returns 0 if none is listed, which is the common case */
const findAll = (
  host: string,
  { table }: ListContent,
  { count, starts, hashes, flags: found }: SuffixHashes,
): number => {
  let any = 0;
  for (let index = 0; index < count; index += 1) {
    found[index] = table.find(host, starts[index]!, hashes[index]!);
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
 * As eth-phishing-detect decides: allowed entries first, then blocked ones, both with everything under them, then
 * imitations.
 */
const metamaskOpinion = (
  reading: ParsedContent,
  content: ListContent,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion => {
  const host = reading.host!;
  const allowed = matchNearest(ALLOWED, host, content, hashes, suffixes);
  if (allowed?.status === 'ALLOWED') return allowed;
  const blocked = matchNearest(BLOCKED, host, content, hashes, suffixes);
  if (blocked?.status === 'BLOCKED') return blocked;
  const alike = unlistedOpinion(host, content, 'metamask', reading);
  return alike.status === 'BLOCKED' ? alike : (blocked ?? allowed ?? NOT_FOUND);
};

import { rangeOf } from '../../assets/ip-address.js';
import type { ParsedContent } from '../../assets/asset.js';
import { FAILED, hostingResult, isInherited, NOT_FOUND, type SourceResult, UNSUPPORTED } from '../verdict.js';
import { Guards } from './guards.js';
import {
  ALLOWED,
  BLOCKED,
  EXACTLY,
  flagsForSubdomains,
  flagsForHost,
  isOfTopRank,
  ofHigherRank,
  SUBDOMAINS_SHIFT,
  statusOf,
  type SuffixHashes,
} from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type ListLookup, matchIpfsContent, matchPage } from './match-page.js';
import { type Format, kindsOf, type ListContent } from './parse-list.js';

/** Returns the text whose hashes `matchList` needs: the account or the host. */
export const lookupText = (parsed: ParsedContent): string => parsed.account ?? parsed.host ?? '';

const NO_GUARDS = new Guards();

/**
 * Looks up an asset in a list.
 * @param content undefined if the list was never read
 * @param hashes the hashes of `lookupText(reading)`
 */
export const matchList = (
  content: ListContent | undefined,
  format: Format,
  parsed: ParsedContent,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
  guards = NO_GUARDS,
): SourceResult => {
  const { account, host } = parsed;
  if (account !== undefined) {
    if (!kindsOf(format).accounts) return UNSUPPORTED;
    return content === undefined ? FAILED : matchAccountWithTag(parsed, content);
  }
  if (content === undefined) return host !== undefined || kindsOf(format).pages ? FAILED : UNSUPPORTED;
  const lookup = { parsed, host: host ?? '', content, format, hashes, suffixes, guards };
  if (content.pages === 0) return host === undefined ? UNSUPPORTED : matchHost(lookup);
  const served = matchIpfsContent(lookup);
  if (served !== undefined && served.guardedBy === undefined) return served;
  const page = matchPage(lookup) ?? served;
  if (page === undefined) return host === undefined ? NOT_FOUND : matchHost(lookup);
  return isDecidedByPage(page, lookup) ? page : strongerOf(page, matchHost(lookup), format);
};

/** Whether the result of the host cannot change that of the page. */
const isDecidedByPage = (page: SourceResult, { parsed, format }: ListLookup): boolean => {
  if (parsed.host === undefined) return true;
  // An overruled entry does not decide, so that another entry of the list can.
  if (page.guardedBy !== undefined) return false;
  return parsed.isSharedHost || (format !== 'metamask' && !isInherited(page));
};

/** Chooses between the results of a page and of its host, which is not shared. */
const strongerOf = (page: SourceResult, host: SourceResult, format: Format): SourceResult => {
  if (page.guardedBy !== undefined) return host === NOT_FOUND ? page : host;
  // MetaMask's detector looks for allowed hosts first.
  if (format === 'metamask' && host.status === 'ALLOWED') return host;
  // A page above has less weight than the asset itself, so it must not hide that the list blocks the host.
  return page.status === 'BLOCKED' && isInherited(page) && host.status === 'BLOCKED' && !isInherited(host)
    ? host
    : page;
};

const matchHost = (lookup: ListLookup): SourceResult => {
  const { parsed, host, content, format, hashes, suffixes } = lookup;
  if (lookUpSuffixes(host, content, hashes) === 0) return matchRange(lookup) ?? resultOfUnlistedHost(lookup);
  if (parsed.isSharedHost) return resultOfSharedHost(lookup);
  const result =
    format === 'metamask' ? matchAsMetamask(lookup) : (matchNearest(ALLOWED | BLOCKED, lookup) ?? NOT_FOUND);
  return parsed.isOnHost ? inherited(result, host, suffixes) : result;
};

/** Looks up an account: an entry for the account with its tag comes before an entry for the whole account. */
const matchAccountWithTag = ({ account, name }: ParsedContent, { table }: ListContent): SourceResult => {
  const entry = table.entryOf(name) ?? (name === account ? undefined : table.entryOf(account!));
  return entry === undefined ? NOT_FOUND : { status: statusOf(entry.flags), match: entry.spelling };
};

/** Converts the result of a host to the result that pages and mailboxes on the host inherit. */
const inherited = (result: SourceResult, host: string, suffixes: HostingSuffixes): SourceResult => {
  if (result.status === 'UNKNOWN' || result.reason === 'parent-domain') return result;
  if (host.length <= suffixes.boundaryOf(host).suffix.length) return hostingResult(result.match!);
  return { ...result, reason: 'parent-domain', matchedLength: host.length };
};

/**
 * Looks up the host and each parent domain, and stores the flags that apply to the host in `hashes.flags`.
 * @returns 0 if neither the host nor a parent domain is listed, which is the common case
 */
const lookUpSuffixes = (host: string, content: ListContent, suffixes: SuffixHashes): number => {
  const { count, starts, hashes, flags: found } = suffixes;
  let allFlags = 0;
  let kept = ALLOWED | BLOCKED;
  for (let index = 0; index < count; index += 1) {
    const isHost = index === count - 1;
    const listed = content.table.find(host, starts[index]!, hashes[index]!);
    const flags = isHost ? withRules(listed, host, content, suffixes) : listed;
    const isTop = isOfTopRank(flags);
    found[index] = (isHost ? flagsForHost(flags) : flagsForSubdomains(flags)) & (isTop ? -1 : kept);
    // What blocks in the top rank precedes what allows the hosts below.
    if (isTop && found[index] === BLOCKED) kept = BLOCKED;
    allFlags |= found[index]!;
  }
  return allFlags;
};

/** Adds the rules that concern exactly the host to its flags, and stores the rule that decides in `hashes.rule`. */
const withRules = (
  listed: number,
  host: string,
  { table, exact, exemptions }: ListContent,
  hashes: SuffixHashes,
): number => {
  hashes.rule = undefined;
  let flags = listed;
  const add = (others: number, rule: string): void => {
    flags = ofHigherRank(flags, others);
    if (others !== 0 && (flags & others) === others && statusOf(flags) === statusOf(others)) hashes.rule = rule;
  };
  if (exact > 0) {
    const entry = table.entryOf(EXACTLY + host);
    if (entry !== undefined) add(entry.flags, entry.spelling);
  }
  for (const { pattern, end, form, flags: others } of exemptions)
    if (host.endsWith(end) && form.test(host)) add(others, pattern);
  return flags;
};

const resultOfUnlistedHost = ({ parsed, host, content, format, hashes, guards }: ListLookup): SourceResult => {
  if (parsed.isSharedHost) return content.pages > 0 ? NOT_FOUND : UNSUPPORTED;
  // Only a host can be an imitation, not a page or mailbox on the host.
  const imitated = format === 'metamask' && !parsed.isOnHost ? content.fuzzy?.find(host) : undefined;
  if (imitated === undefined) return NOT_FOUND;
  return guards.overrule({ status: 'BLOCKED', match: imitated, isImitation: true }, host, hashes, host.length);
};

/** Looks up the ranges around an address, narrowest first: one look-up for each length of a prefix in the list. */
const matchRange = ({ parsed, host, content, hashes, guards }: ListLookup): SourceResult | undefined => {
  if (parsed.isDnsName) return undefined;
  for (const prefix of content.prefixes) {
    const range = rangeOf(host, prefix);
    const entry = range && content.table.entryOf(range.key);
    if (entry === undefined) continue;
    const status = statusOf(entry.flags);
    const found = { status, reason: 'parent-domain', match: entry.spelling, matchedLength: 0 } as const;
    return guards.overrule(found, host, hashes, host.length);
  }
  return undefined;
};

const spellingOf = (index: number, { host, content, hashes: { count, starts, hashes, rule } }: ListLookup): string =>
  index === count - 1 && rule !== undefined
    ? rule
    : content.table.originalSpelling(host, starts[index]!, hashes[index]!);

/**
 * Returns the result of a page or profile on a listed shared host. An entry for a shared host does not apply to the
 * pages on the host.
 */
const resultOfSharedHost = (lookup: ListLookup): SourceResult => {
  let nearest = lookup.hashes.count - 1;
  while (lookup.hashes.flags[nearest] === 0) nearest -= 1;
  return hostingResult(spellingOf(nearest, lookup));
};

/**
 * Returns the result of the nearest matching entry: an exact entry first, then entries for parent domains, longest
 * first. If an entry is both ALLOWED and BLOCKED, it counts as ALLOWED.
 * @param wanted the flags to consider
 * @returns undefined if no entry with a wanted flag matches
 */
const matchNearest = (wanted: number, lookup: ListLookup): SourceResult | undefined => {
  const { host, content, hashes, suffixes, guards } = lookup;
  const { count, starts, flags: found } = hashes;
  const exact = found[count - 1]! & wanted;
  if (exact !== 0) {
    const result = { status: statusOf(exact), match: spellingOf(count - 1, lookup) };
    return guards.overrule(result, host, hashes, host.length);
  }
  for (let index = count - 2; index >= 0; index -= 1) {
    const flags = found[index]! & wanted;
    if (flags === 0) continue;
    const match = spellingOf(index, lookup);
    const matchedLength = host.length - starts[index]!;
    // An entry for a hosting suffix or a public suffix does not apply to the names under it.
    if (matchedLength <= suffixes.boundaryOf(host).suffix.length) return hostingResult(match);
    const result: SourceResult = { status: statusOf(flags), reason: 'parent-domain', match, matchedLength };
    // An entry for the subdomains of a host does not block the host itself.
    const forSubdomains = content.table.find(host, starts[index]!, hashes.hashes[index]!) >> SUBDOMAINS_SHIFT;
    const covered = matchedLength + (forSubdomains & BLOCKED ? 1 : 0);
    return guards.overrule(result, host, hashes, covered);
  }
  return undefined;
};

/** Matches in the order of MetaMask's detector: allowed hosts, blocked hosts, then imitations, each with its subdomains. */
const matchAsMetamask = (lookup: ListLookup): SourceResult => {
  const allowed = matchNearest(ALLOWED, lookup);
  if (allowed?.status === 'ALLOWED') return allowed;
  const blocked = matchNearest(BLOCKED, lookup);
  if (blocked?.status === 'BLOCKED') return blocked;
  const imitation = resultOfUnlistedHost(lookup);
  return imitation.status === 'BLOCKED' ? imitation : (blocked ?? allowed ?? imitation);
};

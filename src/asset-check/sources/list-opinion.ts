import type { Reading } from '../../assets/read-content.js';
import { FAILED, NOT_FOUND, type Opinion, UNSUPPORTED } from '../opinion.js';
import { ALLOWED, BLOCKED } from './entry-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';
import { type Format, type ListContent, namesAddresses } from './list-format.js';
import type { SuffixHashes } from './suffix-hashes.js';

/** The text whose hashes a list is asked for: the host or the account. */
export const askedText = (reading: Reading): string => reading.account ?? reading.host ?? '';

const statusOf = (flags: number): 'ALLOWED' | 'BLOCKED' => (flags & ALLOWED ? 'ALLOWED' : 'BLOCKED');

/**
 * What a list says.
 * @param content undefined where the list was never read
 * @param hashes of `askedText(reading)`
 */
export const askList = (
  content: ListContent | undefined,
  format: Format,
  reading: Reading,
  hashes: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion => {
  const { account, host } = reading;
  if (account === undefined ? host === undefined || reading.isAtHost : !namesAddresses(format)) return UNSUPPORTED;
  if (content === undefined) return FAILED;
  if (account !== undefined) {
    const flags = content.table.find(account, 0, hashes.hashes[0]!);
    return flags === 0 ? NOT_FOUND : { status: statusOf(flags), match: account };
  }
  if (findAll(host!, content, hashes) === 0) return ofUnlisted(host!, content, format, reading.hostCarriesOthers);
  if (reading.hostCarriesOthers) return ofCarrier(host!, hashes);
  return format === 'metamask'
    ? byDetector(host!, content, hashes, suffixes)
    : (byNearest(ALLOWED | BLOCKED, host!, hashes, suffixes) ?? NOT_FOUND);
};

/** The flags of the asked host and of each domain above it, as `hashes` has them; overwritten by the next question. */
const found = new Uint8Array(128);

/** @returns 0 where none of them is listed, which is the common case */
const findAll = (host: string, { table }: ListContent, { count, starts, hashes }: SuffixHashes): number => {
  let any = 0;
  for (let index = 0; index < count; index += 1) {
    const flags = table.find(host, starts[index]!, hashes[index]!);
    found[index] = flags;
    any |= flags;
  }
  return any;
};

const ofUnlisted = (host: string, { fuzzy }: ListContent, format: Format, isCarrier: boolean): Opinion => {
  if (isCarrier) return UNSUPPORTED;
  const imitated = format === 'metamask' ? fuzzy?.find(host) : undefined;
  return imitated === undefined ? NOT_FOUND : { status: 'BLOCKED', match: imitated, isImitation: true };
};

/** Of a page or profile: a list of hosts says nothing about it, not even where its host is listed. */
const ofCarrier = (host: string, { count, starts }: SuffixHashes): Opinion => {
  let nearest = count - 1;
  while (found[nearest] === 0) nearest -= 1;
  return hosted(host.slice(starts[nearest]));
};

/**
 * An exact entry beats one above it, a nearer one a farther one, ALLOWED beats BLOCKED at the same place.
 * @returns undefined where nothing of what is wanted is listed
 */
const byNearest = (
  wanted: number,
  host: string,
  { count, starts }: SuffixHashes,
  suffixes: HostingSuffixes,
): Opinion | undefined => {
  const exact = found[count - 1]! & wanted;
  if (exact !== 0) return { status: statusOf(exact), match: host };
  for (let index = count - 2; index >= 0; index -= 1) {
    const flags = found[index]! & wanted;
    if (flags === 0) continue;
    const match = host.slice(starts[index]);
    // Where anybody can host, or registries sell names, an entry speaks for itself alone.
    if (match.length <= suffixes.boundaryLengthOf(host)) return hosted(match);
    return { status: statusOf(flags), reason: 'parent-domain', match };
  }
  return undefined;
};

/** As eth-phishing-detect decides: what is allowed with everything under it, then what is blocked, then look-alikes. */
const byDetector = (host: string, content: ListContent, hashes: SuffixHashes, suffixes: HostingSuffixes): Opinion => {
  const allowed = byNearest(ALLOWED, host, hashes, suffixes);
  if (allowed?.status === 'ALLOWED') return allowed;
  const blocked = byNearest(BLOCKED, host, hashes, suffixes);
  if (blocked?.status === 'BLOCKED') return blocked;
  const alike = ofUnlisted(host, content, 'metamask', false);
  return alike.status === 'BLOCKED' ? alike : (blocked ?? allowed ?? NOT_FOUND);
};

const hosted = (match: string): Opinion => ({ status: 'UNKNOWN', reason: 'hosting-domain', match });

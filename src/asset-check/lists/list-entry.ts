import { readAccount } from '../../assets/account.js';
import { isInternalHost } from '../../assets/internal-host.js';
import { isDnsName, parseLocation } from '../../assets/location.js';
import { parseContent } from '../../assets/parse-content.js';
import { profileHost } from '../../assets/profiles/profile.js';
import { MAX_ENTRY_LENGTH } from './host-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';

/** Room for a scheme, whitespace and a Unicode name. */
const MAX_TEXT_LENGTH = 1_024;

/** A page on a host with a single publisher: it says nothing about the host. */
export const PATH_OF_ONE_HOST = Symbol('a path of a host that is one publisher');

/**
 * Reads a list entry: a host, an IP address or a URL without a path; if `wide`, also a wallet address, or a page or
 * profile on a host with many publishers.
 * @returns the key it is looked up by, pages and profiles with their type; undefined if it is none of these, a public
 *   suffix, or on a private network
 */
export const readEntry = (
  entry: string,
  suffixes: HostingSuffixes,
  wide: boolean,
): string | typeof PATH_OF_ONE_HOST | undefined => {
  if (entry.length > MAX_TEXT_LENGTH) return undefined;
  const text = entry.trim();
  if (wide && !text.includes('.')) {
    const account = readAccount(text);
    if (account) return account.key.length <= MAX_ENTRY_LENGTH ? account.key : undefined;
  }
  const location = parseLocation(text);
  if (location === undefined || text.slice(0, text.length - location.rest.length).includes('@')) return undefined;
  const { host, isName, scheme, rest } = location;
  if (scheme !== '' && scheme !== 'http' && scheme !== 'https') return undefined;
  if (isInternalHost(host, isName)) return undefined;
  if (isName && (!isDnsName(host) || !host.includes('.') || suffixes.isRegistrySuffix(host))) return undefined;
  const owner = wide && isName ? profileHost(host) : undefined;
  if (rest === '' || rest === '/') return owner === undefined ? host : `${owner.type}:${owner.name}`;
  return wide ? readPage(text) : undefined;
};

const readPage = (text: string): string | typeof PATH_OF_ONE_HOST | undefined => {
  const { reading } = parseContent(text);
  if (reading?.isSharedHost !== true) return PATH_OF_ONE_HOST;
  return reading.keys.findLast((key) => key.length <= MAX_ENTRY_LENGTH && /^[\x21-\x7e]+$/.test(key));
};

import { readAddress } from '../../assets/address.js';
import { isInternalHost } from '../../assets/internal-host.js';
import { isDnsName, locate } from '../../assets/location.js';
import { LONGEST_ENTRY } from './entry-table.js';
import type { HostingSuffixes } from './hosting-suffixes.js';

/** Room for a scheme, blanks and a name in Unicode. */
const LONGEST_TEXT = 1_024;

/**
 * Reads one entry of a list: a host, an IP address or a URL without a path, and where `addresses` says so a wallet
 * address.
 * @returns undefined where it is none, a public suffix of the registries, or of a private network
 */
export const readEntry = (entry: string, suffixes: HostingSuffixes, addresses: boolean): string | undefined => {
  if (entry.length > LONGEST_TEXT) return undefined;
  const text = entry.trim();
  if (addresses && !text.includes('.')) {
    const address = readAddress(text);
    if (address) return address.key.length <= LONGEST_ENTRY ? address.key : undefined;
  }
  if (text.includes('@')) return undefined;
  const location = locate(text);
  if (location === undefined || (location.rest !== '' && location.rest !== '/')) return undefined;
  const { host, isName, scheme } = location;
  if (scheme !== '' && scheme !== 'http' && scheme !== 'https') return undefined;
  if (isInternalHost(host, isName)) return undefined;
  if (isName && (!isDnsName(host) || !host.includes('.') || suffixes.isRegistrySuffix(host))) return undefined;
  return host;
};

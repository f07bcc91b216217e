import { readFileSync } from 'node:fs';
import { MS_PER_DAY, parseInstant } from '../../events/instant.js';

/** A row of `data/phishing-sites.csv`: on `day`, a site was added to or removed from a phishing list. */
export interface SiteRow {
  /** The line in the file; the header is line 1. */
  readonly line: number;
  /** The start of the day in UTC, in ms since 1970. */
  readonly day: number;
  /** The zero-based index of the row among the rows of the same day. */
  readonly ordinal: number;
  readonly change: string;
  /** The site as `polkadot-js/phishing` spells it, unchanged. */
  readonly site: string;
}

/** A row of `data/phishing-addresses.csv`: a wallet address seen on a site. */
export interface AddressRow {
  readonly line: number;
  /** The site or name as `polkadot-js/phishing` spells it, unchanged. */
  readonly site: string;
  readonly address: string;
}

export const SITES_FILE = 'phishing-sites.csv';
export const ADDRESSES_FILE = 'phishing-addresses.csv';

/** Reads the lines of a CSV file. Splitting at commas is enough, because no value contains a comma or a quote. */
const readLines = (file: string): string[][] =>
  readFileSync(new URL(`./data/${file}`, import.meta.url), 'utf8')
    .trimEnd()
    .split(/\r?\n/)
    .map((line) => line.split(','));

export const readSiteRows = (): SiteRow[] => {
  let day = Number.NaN;
  let ordinal = 0;
  return readLines(SITES_FILE).flatMap(([date = '', change = '', site = ''], index) => {
    if (index === 0) return [];
    const midnight = parseInstant(`${date}T00:00:00Z`);
    if (midnight === undefined || midnight % MS_PER_DAY !== 0)
      throw new Error(`${SITES_FILE}:${index + 1}: "${date}" is not a date`);
    ordinal = midnight === day ? ordinal + 1 : 0;
    day = midnight;
    return [{ line: index + 1, day, ordinal, change, site }];
  });
};

export const readAddressRows = (): AddressRow[] =>
  readLines(ADDRESSES_FILE)
    .map(([site = '', address = ''], index) => ({ line: index + 1, site, address }))
    .slice(1);

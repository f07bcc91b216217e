import { readFileSync } from 'node:fs';
import { MS_PER_DAY, parseInstant } from '../events/instant.js';

/** A row of `data/phishing-sites.csv`: on that day a site was listed as phishing, or taken off the list. */
export interface SiteRow {
  /** The line in the file; the names of the columns are line 1. */
  readonly line: number;
  /** Midnight UTC, ms. */
  readonly day: number;
  /** The how manieth row of its day, from 0. */
  readonly ordinal: number;
  readonly change: string;
  /** As the source has it. */
  readonly site: string;
}

/** A row of `data/phishing-addresses.csv`: a wallet address seen on a site. */
export interface AddressRow {
  readonly line: number;
  /** As the source has it; some are no site. */
  readonly site: string;
  readonly address: string;
}

export const SITES_FILE = 'phishing-sites.csv';
export const ADDRESSES_FILE = 'phishing-addresses.csv';

/** No value of the shipped files holds a comma or a quote, so a row is its commas. */
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
      throw new Error(`${SITES_FILE}:${index + 1}: "${date}" is no date`);
    ordinal = midnight === day ? ordinal + 1 : 0;
    day = midnight;
    return [{ line: index + 1, day, ordinal, change, site }];
  });
};

export const readAddressRows = (): AddressRow[] =>
  readLines(ADDRESSES_FILE)
    .map(([site = '', address = ''], index) => ({ line: index + 1, site, address }))
    .slice(1);

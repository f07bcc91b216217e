import type { Pool } from 'pg';
import { tableLines } from './table-lines.js';
import { sent, type Sent, sentReport, sentStatus, sentThreat } from './upstream.js';

/** When everything was created. */
export const AT = '2026-03-01T12:00:00.000Z';
export const RANGE = 'startDate=2026-01-01&endDate=2026-12-31';
/** The slug `acme` as a word of its own: `acme-2` is another organization. */
const SLUG = /(?<![a-z0-9-])acme(?![a-z0-9-])/;
/** In every content, id and name that only `acme` has. */
export const SECRET = 'confidential';

export const namesAcme = (line: string): boolean => SLUG.test(line) || line.includes(SECRET);

/** Returns the rows of all tables that name `acme`, or that have something that only `acme` has. */
export const rowsOfAcme = async (pool: Pool): Promise<string[]> => (await tableLines(pool)).filter(namesAcme);

/** @param reviews each names an organization and a brand, such as `acme:wallet` */
export const verdict = (changeId: string, content: string, ...reviews: readonly string[]): Sent =>
  sentStatus(changeId, {
    asset: { type: 'URL', content },
    brandReviews: reviews.map((review) => ({ organization: review.split(':')[0], brand: review.split(':')[1] })),
    createdAt: AT,
  });

/** The same ids, brands and assets for each organization, and some that only `acme` has. */
export const eventsOf = (organization: string): Sent[] => {
  const asset = { type: 'URL', content: 'phishing.example' };
  const times = { createdAt: AT, updatedAt: AT };
  const own = [
    sent('BrandRegistered', { organization, brand: 'wallet', name: 'Wallet', updatedAt: AT }),
    sent('FeatureFlagChanged', { organization, flag: 'brands-metrics', enabled: true, updatedAt: AT }),
    sentThreat('t-1', { organization, asset, ...times }),
    sentReport('r-1', { organization, brands: ['wallet'], ...times }),
    sent('TakedownFiled', { organization, takedownId: 'k-1', asset, brand: 'wallet', status: 'COMPLETED', ...times }),
    sent('AssetGrouped', { organization, asset, groupId: 1, updatedAt: AT }),
  ];
  if (organization !== 'acme') return own;
  return [
    ...own,
    sent('BrandRegistered', { organization, brand: `${SECRET}-brand`, name: SECRET, updatedAt: AT }),
    sentThreat(`${SECRET}-t`, { organization, asset: { type: 'URL', content: `${SECRET}.example` }, ...times }),
  ];
};

/** Verdicts that name `acme`, two of them about one asset and together with `acme-2`. */
export const SHARED_VERDICTS = [
  verdict('c-both', 'both.example', 'acme:wallet', 'acme-2:wallet'),
  verdict('c-first', 'both.example', 'acme-2:wallet', 'acme:wallet', 'acme-2:second'),
  verdict('c-only', 'only.example', 'acme:wallet'),
];

import { type Sent, sent } from '../../support/upstream.js';

/** The events of the organization acme in the last days. */

export const MS_PER_DAY = 86_400_000;

/** Returns noon of an earlier day, so that no test runs at the border of a day. */
export const daysAgo = (days: number): string =>
  `${new Date(Date.now() - days * MS_PER_DAY).toISOString().slice(0, 10)}T12:00:00.000Z`;
export const dateDaysAgo = (days: number): string => daysAgo(days).slice(0, 10);

export const threat = (id: string, type: string, days: number, status = 'BLOCKED'): Sent =>
  sent('ThreatStatusChanged', {
    organization: 'acme',
    threatId: id,
    asset: { type, content: `${id}.example` },
    status,
    createdAt: daysAgo(days),
    updatedAt: daysAgo(days),
  });
export const takedown = (id: string, status: string, filed: number, updated = filed): Sent =>
  sent(status === 'TODO' ? 'TakedownFiled' : 'TakedownStatusChanged', {
    organization: 'acme',
    takedownId: id,
    brand: 'wallet',
    asset: { type: 'URL', content: `${id}.example` },
    status,
    createdAt: daysAgo(filed),
    updatedAt: daysAgo(updated),
  });
export const report = (id: string, days: number): Sent =>
  sent('ReportFiled', {
    organization: 'acme',
    reportId: id,
    brands: ['wallet'],
    createdAt: daysAgo(days),
    updatedAt: daysAgo(days),
  });
const updatedAt = '2026-01-01T00:00:00Z';
const brand = (slug: string, name: string): Sent =>
  sent('BrandRegistered', { organization: 'acme', brand: slug, name, updatedAt });

/** A dispute as the service itself records it, and its decision. */
const dispute = (id: string, days: number, outcome?: string): Sent[] => {
  const record = { organization: 'acme', disputeId: id };
  const asset = { type: 'URL', content: `${id}.example` };
  const verdict = { status: 'BLOCKED', source: 'own', sources: [], message: 'Blocked.' };
  const filed = { ...record, asset, content: asset.content, verdict, createdAt: daysAgo(days) };
  return [
    sent('DisputeFiled' as Sent['type'], filed),
    ...(outcome === undefined ? [] : [sent('DisputeResolved', { ...record, outcome, resolvedAt: daysAgo(days - 2) })]),
  ];
};

/** The endpoint of upstream rejects these events, so they are appended to the log. */
export const DISPUTE_EVENTS = [
  ...dispute('wrong', 10, 'ACCEPTED'),
  ...dispute('right', 6, 'REJECTED'),
  ...dispute('undecided', 1),
];

/** A name that would run a script if it were inserted as markup. */
export const HOSTILE = '<img src=x onerror="document.title=1">';

export const EVENTS = [
  sent('FeatureFlagChanged', { organization: 'acme', flag: 'brands-metrics', enabled: true, updatedAt }),
  brand('wallet', 'Wallet'),
  brand('hostile', HOSTILE),
  ...[1, 1, 1, 3, 8, 20].map((days, n) => threat(`url-${n}`, 'URL', days)),
  ...[2, 9].map((days, n) => threat(`x-${n}`, 'TWITTER', days)),
  threat('ignored', 'URL', 2, 'REJECTED'),
  threat('watched', 'URL', 4, 'WATCHLISTED'),
  ...[40, 41, 200].map((days, n) => threat(`old-${n}`, 'ADDRESS', days)),
  // First blocked, then found to be harmless.
  threat('corrected', 'URL', 3),
  sent('ThreatDeleted', { organization: 'acme', threatId: 'corrected', deletedAt: daysAgo(2) }),
  report('now', 2),
  report('before', 45),
  takedown('slow', 'COMPLETED', 9, 2),
  takedown('quick', 'COMPLETED', 5, 4),
  takedown('waiting', 'TODO', 3),
  takedown('given-up', 'CANCELED', 6, 5),
  sent('AssetStatusChanged', {
    changeId: 'c1',
    asset: { type: 'URL', content: 'evil.example' },
    status: 'BLOCKED',
    brandReviews: [{ organization: 'acme', brand: 'wallet' }],
    createdAt: daysAgo(1),
  }),
];

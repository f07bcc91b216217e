import { type Declared, upstreamEvent } from './declaration.js';
import { boolean, instant, optional, slug, text } from './fields.js';

/** A brand's full state, apart from whether it is registered, which the event's type says. */
const fields = {
  organization: slug('Whose brand it is.'),
  brand: slug('Names the brand within the organization; `brandSlug` of a query for metrics.'),
  name: optional(text(255, 'The name that people read.')),
  updatedAt: instant('Since when it has been in this state.'),
};

export const brandRegistered = upstreamEvent('BrandRegistered', {
  description: 'A brand of an organization was registered, or renamed: its full state.',
  fields,
  example: { organization: 'acme', brand: 'metamask', name: 'MetaMask', updatedAt: '2026-02-01T10:00:00.000Z' },
});
export type BrandRegistered = Declared<typeof brandRegistered>;

export const brandRemoved = upstreamEvent('BrandRemoved', {
  description: 'A brand was removed: metrics can no longer be asked of it. A later `BrandRegistered` restores it.',
  fields,
  example: { organization: 'acme', brand: 'old-wallet', name: 'Old Wallet', updatedAt: '2026-02-15T10:00:00.000Z' },
});
export type BrandRemoved = Declared<typeof brandRemoved>;

export const featureFlagChanged = upstreamEvent('FeatureFlagChanged', {
  description: 'A feature was switched on or off for an organization.',
  fields: {
    organization: slug('For whom.'),
    flag: text(64, 'Which feature; `brands-metrics` is the one that allows metrics by brand.'),
    enabled: boolean('Whether it is on.'),
    updatedAt: instant('Since when it has been in this state.'),
  },
  example: { organization: 'acme', flag: 'brands-metrics', enabled: true, updatedAt: '2026-02-01T10:00:00.000Z' },
});
export type FeatureFlagChanged = Declared<typeof featureFlagChanged>;

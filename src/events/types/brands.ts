import { type Declared, upstreamEvent } from '../declaring/declaration.js';
import { boolean, instant, optional, slug, text } from '../declaring/fields.js';

/** The full state of a brand, except whether it is registered, which the event type determines. */
const fields = {
  organization: slug('The organization that owns the brand.'),
  brand: slug('Identifies the brand within the organization. Metrics queries use this value as `brandSlug`.'),
  name: optional(text(255, 'The display name.')),
  updatedAt: instant('When the brand entered this state.'),
};

export const brandRegistered = upstreamEvent('BrandRegistered', {
  description: 'A brand of an organization was registered or renamed. The event contains the full state of the brand.',
  fields,
  example: { organization: 'acme', brand: 'metamask', name: 'MetaMask', updatedAt: '2026-02-01T10:00:00.000Z' },
});
export type BrandRegistered = Declared<typeof brandRegistered>;

export const brandRemoved = upstreamEvent('BrandRemoved', {
  description:
    'A brand was removed, and its metrics are no longer available. A later `BrandRegistered` restores the brand.',
  fields,
  example: { organization: 'acme', brand: 'old-wallet', name: 'Old Wallet', updatedAt: '2026-02-15T10:00:00.000Z' },
});
export type BrandRemoved = Declared<typeof brandRemoved>;

export const featureFlagChanged = upstreamEvent('FeatureFlagChanged', {
  description: 'A feature flag of an organization was turned on or off.',
  fields: {
    organization: slug('The organization.'),
    flag: text(64, 'The name of the flag. `brands-metrics` enables metrics by brand.'),
    enabled: boolean('Whether the flag is on.'),
    updatedAt: instant('When the flag entered this state.'),
  },
  example: { organization: 'acme', flag: 'brands-metrics', enabled: true, updatedAt: '2026-02-01T10:00:00.000Z' },
});
export type FeatureFlagChanged = Declared<typeof featureFlagChanged>;

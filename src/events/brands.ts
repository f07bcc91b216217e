import type { Fields } from './fields.js';

/** A brand's full state, apart from whether it is registered, which the event's type says. */
export interface Brand {
  readonly organization: string;
  readonly brand: string;
  readonly name: string | undefined;
  readonly updatedAt: number;
}

export interface BrandRegistered {
  readonly type: 'BrandRegistered';
  readonly data: Brand;
}

export interface BrandRemoved {
  readonly type: 'BrandRemoved';
  readonly data: Brand;
}

export interface FeatureFlagChanged {
  readonly type: 'FeatureFlagChanged';
  readonly data: {
    readonly organization: string;
    readonly flag: string;
    readonly enabled: boolean;
    readonly updatedAt: number;
  };
}

export const brand = (fields: Fields): Brand => ({
  organization: fields.slug('organization'),
  brand: fields.slug('brand'),
  name: fields.optionalText('name', 255),
  updatedAt: fields.instant('updatedAt'),
});

export const featureFlagChanged = (fields: Fields): FeatureFlagChanged['data'] => ({
  organization: fields.slug('organization'),
  flag: fields.text('flag', 64),
  enabled: fields.boolean('enabled'),
  updatedAt: fields.instant('updatedAt'),
});

import type { Fields } from './fields.js';

export interface BrandChanged {
  readonly type: 'BrandRegistered' | 'BrandRemoved';
  readonly data: {
    readonly organization: string;
    readonly brand: string;
    readonly name: string | undefined;
    readonly updatedAt: number;
  };
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

export const brandChanged = (fields: Fields): BrandChanged['data'] => ({
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

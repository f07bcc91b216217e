import type { Asset } from '../assets/asset.js';
import type { BrandReview, Fields } from './fields.js';

export const ASSET_STATUSES = ['UNKNOWN', 'ALLOWED', 'BLOCKED'] as const;
export type AssetStatus = (typeof ASSET_STATUSES)[number];

/** One entry of an asset's status history. */
export interface AssetStatusChanged {
  readonly type: 'AssetStatusChanged';
  readonly data: {
    readonly changeId: string;
    readonly asset: Asset;
    readonly status: AssetStatus;
    readonly brandReviews: readonly BrandReview[];
    readonly createdAt: number;
  };
}

/** An entry is gone for good. */
export interface AssetStatusChangeDeleted {
  readonly type: 'AssetStatusChangeDeleted';
  readonly data: { readonly changeId: string; readonly asset: Asset; readonly deletedAt: number };
}

export const assetStatusChanged = (fields: Fields): AssetStatusChanged['data'] => ({
  changeId: fields.id('changeId'),
  asset: fields.asset('asset'),
  status: fields.oneOf('status', ASSET_STATUSES),
  brandReviews: fields.brandReviews('brandReviews'),
  createdAt: fields.instant('createdAt'),
});

export const assetStatusChangeDeleted = (fields: Fields): AssetStatusChangeDeleted['data'] => ({
  changeId: fields.id('changeId'),
  asset: fields.asset('asset'),
  deletedAt: fields.instant('deletedAt'),
});

import type { Asset, Fields } from './fields.js';

/** Reported upstream: the asset is now in this group, and in no other of the organization. */
export interface AssetGrouped {
  readonly type: 'AssetGrouped';
  readonly data: {
    readonly organization: string;
    readonly groupId: number;
    readonly asset: Asset;
    readonly updatedAt: number;
  };
}

/** Reported upstream: the asset is now in no group of the organization. */
export interface AssetUngrouped {
  readonly type: 'AssetUngrouped';
  readonly data: { readonly organization: string; readonly asset: Asset; readonly updatedAt: number };
}

/** Decided here. The number is unique within the organization for ever. */
export interface AssetGroupCreated {
  readonly type: 'AssetGroupCreated';
  readonly data: {
    readonly organization: string;
    readonly groupId: number;
    readonly name: string;
    readonly createdAt: number;
  };
}

export interface AssetGroupRenamed {
  readonly type: 'AssetGroupRenamed';
  readonly data: {
    readonly organization: string;
    readonly groupId: number;
    readonly name: string;
    readonly updatedAt: number;
  };
}

export interface AssetGroupDeleted {
  readonly type: 'AssetGroupDeleted';
  readonly data: { readonly organization: string; readonly groupId: number; readonly deletedAt: number };
}

export const assetGrouped = (fields: Fields): AssetGrouped['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  asset: fields.asset('asset'),
  updatedAt: fields.instant('updatedAt'),
});

export const assetUngrouped = (fields: Fields): AssetUngrouped['data'] => ({
  organization: fields.slug('organization'),
  asset: fields.asset('asset'),
  updatedAt: fields.instant('updatedAt'),
});

export const assetGroupCreated = (fields: Fields): AssetGroupCreated['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  name: fields.text('name', 255),
  createdAt: fields.instant('createdAt'),
});

export const assetGroupRenamed = (fields: Fields): AssetGroupRenamed['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  name: fields.text('name', 255),
  updatedAt: fields.instant('updatedAt'),
});

export const assetGroupDeleted = (fields: Fields): AssetGroupDeleted['data'] => ({
  organization: fields.slug('organization'),
  groupId: fields.wholeNumber('groupId', 1),
  deletedAt: fields.instant('deletedAt'),
});

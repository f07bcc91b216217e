import type { Asset } from '../assets/asset.js';
import type { Fields } from './fields.js';

export interface TakedownChanged {
  /** Both carry the takedown's full state; which of the two came does not matter to anyone who counts. */
  readonly type: 'TakedownFiled' | 'TakedownStatusChanged';
  readonly data: {
    readonly organization: string;
    readonly takedownId: string;
    readonly brand: string | undefined;
    readonly asset: Asset;
    /** TODO, IN_PROGRESS, COMPLETED, CANCELED, PENDING_RETRACTION, RETRACTION_SENT, RETRACTED, or a newer one. */
    readonly status: string;
    readonly createdAt: number;
    readonly updatedAt: number;
  };
}

export interface TakedownDeleted {
  readonly type: 'TakedownDeleted';
  readonly data: { readonly organization: string; readonly takedownId: string; readonly deletedAt: number };
}

export const takedownChanged = (fields: Fields): TakedownChanged['data'] => ({
  organization: fields.slug('organization'),
  takedownId: fields.id('takedownId'),
  brand: fields.optionalSlug('brand'),
  asset: fields.asset('asset'),
  status: fields.upperCaseName('status'),
  createdAt: fields.instant('createdAt'),
  updatedAt: fields.instant('updatedAt'),
});

export const takedownDeleted = (fields: Fields): TakedownDeleted['data'] => ({
  organization: fields.slug('organization'),
  takedownId: fields.id('takedownId'),
  deletedAt: fields.instant('deletedAt'),
});

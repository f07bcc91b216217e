import type { Asset } from '../assets/asset.js';
import type { Fields } from './fields.js';

/** The takedown's full state; which of the two events carried it does not matter to a count. */
export interface Takedown {
  readonly organization: string;
  readonly takedownId: string;
  readonly brand: string | undefined;
  readonly asset: Asset;
  /** TODO, IN_PROGRESS, COMPLETED, CANCELED, PENDING_RETRACTION, RETRACTION_SENT, RETRACTED, or a newer one. */
  readonly status: string;
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface TakedownFiled {
  readonly type: 'TakedownFiled';
  readonly data: Takedown;
}

export interface TakedownStatusChanged {
  readonly type: 'TakedownStatusChanged';
  readonly data: Takedown;
}

export interface TakedownDeleted {
  readonly type: 'TakedownDeleted';
  readonly data: { readonly organization: string; readonly takedownId: string; readonly deletedAt: number };
}

export const takedown = (fields: Fields): Takedown => ({
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

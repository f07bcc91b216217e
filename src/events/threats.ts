import type { Asset } from '../assets/asset.js';
import type { Fields } from './fields.js';

export interface ThreatStatusChanged {
  readonly type: 'ThreatStatusChanged';
  readonly data: {
    readonly organization: string;
    readonly threatId: string;
    readonly asset: Asset;
    /** PENDING, APPROVED, AUTO_APPROVED, BLOCKED, REJECTED, WATCHLISTED, or a newer one. */
    readonly status: string;
    readonly createdAt: number;
    readonly updatedAt: number;
  };
}

export interface ThreatDeleted {
  readonly type: 'ThreatDeleted';
  readonly data: { readonly organization: string; readonly threatId: string; readonly deletedAt: number };
}

export const threatStatusChanged = (fields: Fields): ThreatStatusChanged['data'] => ({
  organization: fields.slug('organization'),
  threatId: fields.id('threatId'),
  asset: fields.asset('asset'),
  status: fields.upperCaseName('status'),
  createdAt: fields.instant('createdAt'),
  updatedAt: fields.instant('updatedAt'),
});

export const threatDeleted = (fields: Fields): ThreatDeleted['data'] => ({
  organization: fields.slug('organization'),
  threatId: fields.id('threatId'),
  deletedAt: fields.instant('deletedAt'),
});

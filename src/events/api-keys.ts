import type { Fields } from './fields.js';

/** `read`: metrics, check, list groups. `write`: groups. `ingest`: upstream events. */
export const SCOPES = ['read', 'write', 'ingest'] as const;
export type Scope = (typeof SCOPES)[number];

export interface ApiKeyIssued {
  readonly type: 'ApiKeyIssued';
  readonly data: {
    readonly keyId: string;
    /** SHA-256 of the key, hex. The key itself is never stored. */
    readonly keyHash: string;
    readonly name: string | undefined;
    /** Absent: the key belongs to no organization (`ingest` only). */
    readonly organization: string | undefined;
    readonly scopes: readonly Scope[];
    readonly createdAt: number;
    readonly expiresAt: number | undefined;
  };
}

export interface ApiKeyRevoked {
  readonly type: 'ApiKeyRevoked';
  readonly data: { readonly keyId: string; readonly revokedAt: number };
}

export const apiKeyIssued = (fields: Fields): ApiKeyIssued['data'] => ({
  keyId: fields.id('keyId'),
  keyHash: fields.id('keyHash'),
  name: fields.optionalText('name', 255),
  organization: fields.optionalSlug('organization'),
  scopes: fields.someOf('scopes', SCOPES),
  createdAt: fields.instant('createdAt'),
  expiresAt: fields.optionalInstant('expiresAt'),
});

export const apiKeyRevoked = (fields: Fields): ApiKeyRevoked['data'] => ({
  keyId: fields.id('keyId'),
  revokedAt: fields.instant('revokedAt'),
});

import { type Declared, ownEvent } from './declaration.js';
import { id, instant, optional, slug, text } from './fields.js';
import { someOf } from './list-fields.js';

/** `read`: metrics, check, list groups. `write`: groups. `ingest`: upstream events. */
export const SCOPES = ['read', 'write', 'ingest'] as const;
export type Scope = (typeof SCOPES)[number];

export const apiKeyIssued = ownEvent('ApiKeyIssued', {
  keyId: id('Names the key.'),
  keyHash: id('SHA-256 of the key, hex. The key itself is never stored.'),
  name: optional(text(255, 'What the operator calls it.')),
  organization: optional(slug('Absent: the key belongs to no organization (`ingest` only).')),
  scopes: someOf(SCOPES, 'What it is good for.'),
  createdAt: instant('When it was issued.'),
  expiresAt: optional(instant('Until when it is good.')),
});
export type ApiKeyIssued = Declared<typeof apiKeyIssued>;

export const apiKeyRevoked = ownEvent('ApiKeyRevoked', {
  keyId: id('The key, which is good for nothing from now on.'),
  revokedAt: instant('When it was revoked.'),
});
export type ApiKeyRevoked = Declared<typeof apiKeyRevoked>;

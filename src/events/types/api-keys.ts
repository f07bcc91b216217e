import { type Declared, ownEvent } from '../declaring/declaration.js';
import { id, instant, optional, slug, text } from '../declaring/fields.js';
import { someOf } from '../declaring/list-fields.js';

/** `read`: metrics, asset checks and lists of groups. `write`: changes of groups. `ingest`: sending events. */
export const SCOPES = ['read', 'write', 'ingest'] as const;
export type Scope = (typeof SCOPES)[number];

export const apiKeyIssued = ownEvent('ApiKeyIssued', {
  keyId: id('Identifies the key.'),
  keyHash: id('SHA-256 of the key, hex. The key itself is never stored.'),
  name: optional(text(255, 'The name given by the operator.')),
  organization: optional(
    slug('The organization of the key. Absent if the key belongs to no organization (`ingest` only).'),
  ),
  scopes: someOf(SCOPES, 'What the key may be used for.'),
  createdAt: instant('When the key was issued.'),
  expiresAt: optional(instant('When the key expires.')),
});
export type ApiKeyIssued = Declared<typeof apiKeyIssued>;

export const apiKeyRevoked = ownEvent('ApiKeyRevoked', {
  keyId: id('The revoked key.'),
  revokedAt: instant('When the key was revoked.'),
});
export type ApiKeyRevoked = Declared<typeof apiKeyRevoked>;

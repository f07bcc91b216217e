import { Global, Module } from '@nestjs/common';
import { ApiKeyVerifier } from '../http/access/api-key-verifier.js';
import { IssueApiKeyHandler } from './issue-api-key.js';
import { KeyRing } from './key-ring.js';
import { KeyUses } from './key-uses.js';
import { ListApiKeysHandler } from './list-api-keys.js';
import { RevokeApiKeyHandler } from './revoke-api-key.js';

@Global()
@Module({
  providers: [
    KeyRing,
    KeyUses,
    { provide: ApiKeyVerifier, useExisting: KeyRing },
    IssueApiKeyHandler,
    RevokeApiKeyHandler,
    ListApiKeysHandler,
  ],
  exports: [ApiKeyVerifier, KeyRing],
})
export class ApiKeysModule {}

import { Global, Module } from '@nestjs/common';
import { KeyCheck } from '../http/key-check.js';
import { IssueApiKeyHandler } from './issue-api-key.js';
import { KeyRing } from './key-ring.js';
import { ListApiKeysHandler } from './list-api-keys.js';
import { RevokeApiKeyHandler } from './revoke-api-key.js';

@Global()
@Module({
  providers: [
    KeyRing,
    { provide: KeyCheck, useExisting: KeyRing },
    IssueApiKeyHandler,
    RevokeApiKeyHandler,
    ListApiKeysHandler,
  ],
  exports: [KeyCheck, KeyRing],
})
export class ApiKeysModule {}

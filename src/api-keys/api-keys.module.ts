import { Module } from '@nestjs/common';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ApiKeyVerifier } from '../http/access/caller.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { KeyRing } from './key-ring.js';
import { KeyUses } from './key-uses.js';

@Module({
  imports: [EventLogModule, ReadModelsModule],
  providers: [KeyRing, KeyUses, { provide: ApiKeyVerifier, useExisting: KeyRing }],
  exports: [ApiKeyVerifier],
})
export class ApiKeysModule {}

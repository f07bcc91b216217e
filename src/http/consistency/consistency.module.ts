import { Global, Module } from '@nestjs/common';
import { EventLogModule } from '../../event-log/event-log.module.js';
import { ReadModelsModule } from '../../read-models/read-models.module.js';
import { Consistency } from './consistency.js';
import { ConsistencyTokens } from './consistency-token.js';

/** Global, because the controllers of all features add a token to their responses. */
@Global()
@Module({
  imports: [EventLogModule, ReadModelsModule],
  providers: [Consistency, ConsistencyTokens],
  exports: [Consistency, ConsistencyTokens],
})
export class ConsistencyModule {}

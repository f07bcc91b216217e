import { Module, type OnApplicationShutdown } from '@nestjs/common';
import { Config } from '../runtime/config.js';
import { ErasedOrganizations } from './erased-organizations.js';
import { EventLog } from './event-log.js';
import { openEventLog } from './open-event-log.js';

@Module({
  providers: [{ provide: EventLog, useFactory: openEventLog, inject: [Config] }, ErasedOrganizations],
  exports: [EventLog, ErasedOrganizations],
})
export class EventLogModule implements OnApplicationShutdown {
  constructor(private readonly log: EventLog) {}

  async onApplicationShutdown(): Promise<void> {
    await this.log.close();
  }
}

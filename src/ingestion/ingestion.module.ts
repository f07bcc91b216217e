import { Module } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { EventsController } from './events.controller.js';
import { RecordEventsHandler } from './record-events.js';

@Module({ imports: [CqrsModule], controllers: [EventsController], providers: [RecordEventsHandler] })
export class IngestionModule {}

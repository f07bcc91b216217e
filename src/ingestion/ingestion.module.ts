import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { RecordEventsHandler } from './record-events.js';

@Module({ controllers: [EventsController], providers: [RecordEventsHandler] })
export class IngestionModule {}

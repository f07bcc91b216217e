import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { Pace } from './pace.js';
import { RecordEventsHandler } from './record-events.js';

@Module({ controllers: [EventsController], providers: [RecordEventsHandler, Pace] })
export class IngestionModule {}

import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { IngestBackpressure } from './pace.js';
import { Quota } from './quota.js';
import { RecordEventsHandler } from './record-events.js';
import { TimeSlices } from './time-slices.js';

@Module({ controllers: [EventsController], providers: [RecordEventsHandler, IngestBackpressure, Quota, TimeSlices] })
export class IngestionModule {}

import { Module } from '@nestjs/common';
import { EventsController } from './events.controller.js';
import { Pace } from './pace.js';
import { Quota } from './quota.js';
import { RecordEventsHandler } from './record-events.js';
import { TimeSlices } from './time-slices.js';

@Module({ controllers: [EventsController], providers: [RecordEventsHandler, Pace, Quota, TimeSlices] })
export class IngestionModule {}

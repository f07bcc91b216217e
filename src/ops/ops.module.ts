import { Global, Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { TimeSlices } from '../flow/turns.js';
import { Readiness } from './readiness.js';

/** Readiness, metrics and time slices of the event loop. The module is global, because every feature shares them. */
@Global()
@Module({
  providers: [Readiness, TimeSlices, { provide: Registry, useFactory: () => new Registry() }],
  exports: [Readiness, TimeSlices, Registry],
})
export class OpsModule {}

import { Module } from '@nestjs/common';
import { Registry } from 'prom-client';
import { TimeSlices } from '../../flow/time-slices.js';
import { Readiness } from '../../ops/readiness.js';

/** What every feature reports to the operator with, and the turns they take on this process's one thread. */
@Module({
  providers: [Readiness, TimeSlices, { provide: Registry, useFactory: () => new Registry() }],
  exports: [Readiness, TimeSlices, Registry],
})
export class OpsModule {}

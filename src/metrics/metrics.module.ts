import { Module } from '@nestjs/common';
import { GetMetricsHandler } from './get-metrics.js';
import { MetricsController } from './metrics.controller.js';

@Module({ controllers: [MetricsController], providers: [GetMetricsHandler] })
export class MetricsModule {}

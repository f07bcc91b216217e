import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Registry } from 'prom-client';
import { reportFailures } from '../flow/background/failure-report.js';
import { WatchPool } from '../read-models/pools.js';
import { eraseDisputeContacts } from './contacts.js';

const INTERVAL_MS = 3_600_000;

/** Erases contacts of disputes every hour, once their time is over (`contacts.ts`). */
@Injectable()
export class ContactErasure implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> = Promise.resolve();

  constructor(
    private readonly pool: WatchPool,
    private readonly registry: Registry = new Registry(),
  ) {}

  onApplicationBootstrap(): void {
    const report = reportFailures('erase contacts of disputes', this.registry);
    const erase = (): void => {
      this.running = eraseDisputeContacts(this.pool).catch((error: unknown) => report.failed(error));
    };
    erase();
    this.timer = setInterval(erase, INTERVAL_MS).unref();
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }
}

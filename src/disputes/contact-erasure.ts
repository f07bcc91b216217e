import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { Registry } from 'prom-client';
import { reportFailures } from '../flow/background/failure-report.js';
import { WatchPool } from '../read-models/pools.js';
import { ERASE_DISPUTE_CONTACTS } from './statements.js';

/** How long the contact of a dispute is kept after the resolution. */
const CONTACT_KEPT_DAYS = 90;
const INTERVAL_MS = 3_600_000;

/** Erases contacts of disputes every hour, once their time is over. */
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
      this.running = this.erase().catch((error: unknown) => report.failed(error));
    };
    erase();
    this.timer = setInterval(erase, INTERVAL_MS).unref();
  }

  /** @throws the database's error */
  async erase(): Promise<void> {
    await ERASE_DISPUTE_CONTACTS.run(this.pool, { keptDays: CONTACT_KEPT_DAYS });
  }

  async beforeApplicationShutdown(): Promise<void> {
    clearInterval(this.timer);
    await this.running;
  }
}

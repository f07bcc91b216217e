import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import { Registry } from 'prom-client';
import { reportFailures } from '../flow/background/failure-report.js';
import { UpsertBuffer } from '../flow/background/upsert-buffer.js';
import { type KeyUse, storeKeyUses } from '../read-models/key-uses.js';
import { DatabaseClock } from '../postgres/clock.js';
import { WatchPool } from '../read-models/pools.js';

const MINUTE_MS = 60_000;

/** Records when keys were last used, to the minute. The table is written once a minute. */
@Injectable()
export class KeyUses implements BeforeApplicationShutdown {
  private readonly rows: UpsertBuffer<KeyUse>;

  constructor(
    private readonly pool: WatchPool,
    registry: Registry = new Registry(),
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {
    this.rows = new UpsertBuffer<KeyUse>({
      keyOf: ({ keyId }) => keyId,
      merge: (_, use) => use,
      write: (uses) => storeKeyUses(this.pool, uses),
      maxRows: 10_000,
      flushIntervalMs: MINUTE_MS,
      report: reportFailures('write key uses', registry),
    });
  }

  add(keyId: string): void {
    const now = this.clock.now();
    this.rows.add({ keyId, lastUsedAt: now - (now % MINUTE_MS) });
  }

  beforeApplicationShutdown(): Promise<void> {
    return this.rows.stop();
  }
}

import { type BeforeApplicationShutdown, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { statement } from '../postgres/statement.js';
import { reportFailures } from '../flow/background.js';
import { UpsertBuffer } from '../read-models/upsert-buffer.js';
import { DatabaseClock } from '../postgres/clock.js';
import { createReadModels } from '../read-models/tables.js';
import { WatchPool } from '../read-models/pools.js';

/** Stores when keys were last used, unless another instance has stored a later use. The log does not contain uses. */
export const STORE_KEY_USES = statement(
  'key-uses-note',
  { keyId: 'text[]', lastUsedAt: 'bigint[]' },
  `
    insert into service.key_uses as k (key_id, last_used_at)
    select * from unnest(:keyId, :lastUsedAt) u (key_id, last_used_at) order by key_id
    on conflict (key_id) do update set last_used_at = greatest(k.last_used_at, excluded.last_used_at)`,
);

const MINUTE_MS = 60_000;

interface KeyUse {
  readonly keyId: string;
  /** ms */
  readonly lastUsedAt: number;
}

/** When each key was last used (ms), by key id. */
export const readKeyUses = async (pool: Pool): Promise<Map<string, number>> => {
  const rows = await createReadModels(pool).selectFrom('service.key_uses').select(['key_id', 'last_used_at']).execute();
  return new Map(rows.map(({ key_id: id, last_used_at: at }) => [id, at]));
};

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
      write: (uses) => STORE_KEY_USES.runEach(this.pool, uses),
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

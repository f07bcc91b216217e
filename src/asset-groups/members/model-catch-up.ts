import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { Unavailable } from '../../errors.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';
import { compiled } from '../../read-models/compiled-statement.js';
import { coalesce } from '../../flow/trailing-flight.js';

const readPosition = compiled('asset-groups-position', (db) =>
  db.selectFrom('checkpoints').select('position').where('projection', '=', sql.lit('asset-groups')),
);
const LOOK_EVERY_MS = 10;
/** A dead projector is replaced within 5 s; a retry after this meets the new one. ms */
const PATIENCE = 4_000;
const TIME_LIMIT_MS = 2_500;

/**
 * Waits until the groups' read model has everything the log has. All instances share the model, so every later answer
 * of any of them includes it.
 */
@Injectable()
export class ModelCatchUp {
  /** Concurrent waiters share one lookup. */
  private readonly position: () => Promise<bigint>;

  constructor(
    pool: Pool,
    private readonly log: EventLog,
    /** Milliseconds. */
    @Optional() private readonly patience: number = PATIENCE,
  ) {
    this.position = coalesce(async () => {
      const [row] = await readPosition(pool, {}, TIME_LIMIT_MS);
      return row === undefined ? BEGINNING : BigInt(row.position);
    });
  }

  /**
   * Catches up with the head as of this call, or later.
   * @throws Unavailable if the projector is not running, or too far behind
   */
  async run(): Promise<void> {
    const giveUp = performance.now() + this.patience;
    const head = await this.log.head();
    while ((await this.position()) < head) {
      if (performance.now() > giveUp)
        throw new Unavailable(
          'The groups have not caught up with the log; the change may be stored, repeat the request',
        );
      await sleep(LOOK_EVERY_MS);
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable, Optional } from '@nestjs/common';
import { sql } from 'kysely';
import { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import { BEGINNING, EventLog } from '../event-log/event-log.js';
import { compiled } from '../read-models/compiled.js';
import { coalesce } from './coalesce.js';

const readPosition = compiled('asset-groups-position', (db) =>
  db.selectFrom('checkpoints').select('position').where('projection', '=', sql.lit('asset-groups')),
);
/** Milliseconds. */
const LOOK_EVERY = 10;
/** A projector that died is replaced within 5 s; who asks again after this meets the next one. Milliseconds. */
const PATIENCE = 4_000;
const TIME_LIMIT = 2_500;

/**
 * Waits until the read model of the groups holds all that the log holds. It is one model for every instance, so what
 * is in it once is in every later answer of each of them.
 */
@Injectable()
export class ModelCatchUp {
  /** Shared by all who wait, so that many of them cost one lookup. */
  private readonly position: () => Promise<bigint>;

  constructor(
    pool: Pool,
    private readonly log: EventLog,
    /** Milliseconds. */
    @Optional() private readonly patience: number = PATIENCE,
  ) {
    this.position = coalesce(async () => {
      const [row] = await readPosition(pool, {}, TIME_LIMIT);
      return row === undefined ? BEGINNING : BigInt(row.position);
    });
  }

  /**
   * Up to the log's end as it is when this is called, or later.
   * @throws Unavailable where the projector is away, or too far behind
   */
  async run(): Promise<void> {
    const giveUp = performance.now() + this.patience;
    const head = await this.log.head();
    while ((await this.position()) < head) {
      if (performance.now() > giveUp)
        throw new Unavailable('The groups are behind what was reported; what was sent may be stored, send it again');
      await sleep(LOOK_EVERY);
    }
  }
}

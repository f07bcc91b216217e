import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { pause } from '../../src/retry.js';
import { createReadModels } from '../../src/read-models/kysely.js';
import { TAKE_LEASE } from './statements.js';

/** How long a lease lasts without renewal, and how often it is renewed. ms */
const HOLDS_MS = 3_000;
const RENEWED_EVERY_MS = 1_000;

/**
 * Decides which of several projectors works. An optimisation, not a lock: a holder too slow to notice its loss is
 * stopped by the checkpoints' compare-and-set.
 */
export class Lease {
  private readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;

  constructor(
    private readonly pool: Pool,
    /** Called when the database is unavailable. */
    private readonly onTrouble: (sentence: string) => void,
  ) {}

  /**
   * Waits until this process holds the lease or `signal` aborts, even while the database is unavailable.
   * @throws errors that waiting cannot fix
   */
  async acquire(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.tryToTake())) await pause(RENEWED_EVERY_MS / 2, signal);
  }

  /** Renews the lease until another process has it (calls `lost`) or `signal` aborts. */
  async hold(lost: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(RENEWED_EVERY_MS, signal);
      if (signal.aborted) return;
      // A failed renewal says nothing about who holds the lease; a process that can write the rows may continue.
      if ((await this.tryToTake()) === false) return lost();
    }
  }

  /** Lets another process take over at once. */
  async release(): Promise<void> {
    await createReadModels(this.pool)
      .updateTable('projector_lease')
      .set({ expires_at: 0 })
      .where('owner', '=', this.owner)
      .execute();
  }

  /** @returns undefined if the database is unavailable */
  private async tryToTake(): Promise<boolean | undefined> {
    try {
      return await this.take();
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.onTrouble(`Waiting for the database to renew the lease: ${(error as Error).message}`);
      return undefined;
    }
  }

  private async take(): Promise<boolean> {
    const { rowCount } = await this.pool.query({
      ...TAKE_LEASE,
      values: [this.owner, HOLDS_MS],
    });
    return rowCount === 1;
  }
}

import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { Pool } from 'pg';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { pause } from '../../src/retry.js';
import { createReadModels } from '../../src/read-models/kysely.js';
import { TAKE_LEASE } from './statements.js';

/** How long a lease holds without being renewed, and how often its holder renews it. Milliseconds. */
const HOLDS_MS = 3_000;
const RENEWED_EVERY_MS = 1_000;

/**
 * Which of several projectors works. It saves work and is no lock: a holder that was too slow to notice its loss is
 * stopped by the checkpoints' compare-and-set, not by this.
 */
export class Lease {
  private readonly owner = `${hostname()}:${process.pid}:${randomUUID()}`;

  constructor(
    private readonly pool: Pool,
    /** Told, in a sentence, of a database that is away. */
    private readonly onTrouble: (sentence: string) => void,
  ) {}

  /**
   * Waits until this process holds the lease or `signal` aborts. A database that is away is waited for.
   * @throws what waiting cannot mend
   */
  async acquire(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !(await this.tryToTake())) await pause(RENEWED_EVERY_MS / 2, signal);
  }

  /** Renews the lease until another process has it (calls `lost`) or `signal` aborts. */
  async hold(lost: () => void, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(RENEWED_EVERY_MS, signal);
      if (signal.aborted) return;
      // A renewal that failed says nothing about who holds it: whoever can write the rows may go on.
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

  /** @returns undefined where the database is away */
  private async tryToTake(): Promise<boolean | undefined> {
    try {
      return await this.take();
    } catch (error) {
      if (!isTransient(error)) throw error;
      this.onTrouble(`The lease waits for the database: ${(error as Error).message}`);
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

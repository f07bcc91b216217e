import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import { Checkpoints } from '../read-models/checkpoints/checkpoints.js';
import { READ_MIGRATION_TIME } from './statements.js';

/** The migration that creates the tables, or clears the tables of an earlier version. */
const MIGRATION = '0023-baseline';
const RETRY_AFTER_SECONDS = 5;
const PROGRESS_TTL_MS = 500;

/**
 * After an upgrade, the tables are filled while the service runs. Requests are rejected until the tables contain all
 * events from before the upgrade, because incomplete lists would look complete.
 */
@Injectable()
export class InitialBackfill {
  private isComplete = false;
  /** When the tables were created, in ms by the database's clock. */
  private createdAt: number | undefined;
  private cached: { readonly progress: Promise<string | undefined>; readonly expiresAt: number } | undefined;

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** @throws Unavailable, with the progress, until the tables have been filled for the first time */
  async requireComplete(): Promise<void> {
    if (this.isComplete) return;
    const now = performance.now();
    // The database is queried at most twice a second, regardless of the number of requests.
    if (this.cached === undefined || now > this.cached.expiresAt)
      this.cached = { progress: this.readProgress(), expiresAt: now + PROGRESS_TTL_MS };
    const progress = await this.cached.progress;
    if (progress !== undefined)
      throw new Unavailable(`The lists are not complete yet: ${progress}`, RETRY_AFTER_SECONDS);
  }

  private async readProgress(): Promise<string | undefined> {
    try {
      const head = Number(await this.log.forSubscriptions.head());
      this.createdAt ??= (await READ_MIGRATION_TIME.run(this.pool, { migration: MIGRATION }))[0]!.madeAt;
      const { asOf = 0, position = -1 } = (await this.checkpoints.current()).get('records') ?? {};
      this.isComplete = asOf >= this.createdAt;
      if (this.isComplete) return undefined;
      return `${Math.min(99, Math.floor((100 * Math.max(0, position)) / Math.max(1, head)))} % of the log has been read`;
    } catch (error) {
      this.cached = undefined;
      throw asUnavailable(error);
    }
  }
}

import { Injectable } from '@nestjs/common';
import { Unavailable } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import { Checkpoints } from '../read-models/checkpoints/checkpoints.js';
import { WatchPool } from '../read-models/pools.js';
import { READ_FILL } from './statements.js';

/** The migration that makes the tables, or empties those of an earlier version. */
const MIGRATION = '0023-baseline';
const RETRY_AFTER_SECONDS = 5;
const SHARED_FOR_MS = 500;

/**
 * After an upgrade the tables are filled while the service runs. Until they contain everything that the log contained
 * when they were created, lists would be incomplete without any sign of it.
 */
@Injectable()
export class FirstFill {
  private isDone = false;
  /** When the tables were made, by the database's clock. ms */
  private madeAt: number | undefined;
  private looking: { readonly progress: Promise<string | undefined>; readonly until: number } | undefined;

  constructor(
    private readonly pool: WatchPool,
    private readonly log: EventLog,
    private readonly checkpoints: Checkpoints,
  ) {}

  /** @throws Unavailable, with the progress, until the tables have been filled for the first time */
  async done(): Promise<void> {
    if (this.isDone) return;
    const now = performance.now();
    // The database is queried at most twice a second, regardless of the number of requests.
    if (this.looking === undefined || now > this.looking.until)
      this.looking = { progress: this.look(), until: now + SHARED_FOR_MS };
    const progress = await this.looking.progress;
    if (progress !== undefined)
      throw new Unavailable(`The lists are not complete yet: ${progress}`, RETRY_AFTER_SECONDS);
  }

  private async look(): Promise<string | undefined> {
    try {
      const head = Number(await this.log.forFollowers.head());
      this.madeAt ??= (await READ_FILL.run(this.pool, { migration: MIGRATION }))[0]!.madeAt;
      const { asOf = 0, position = -1 } = (await this.checkpoints.current()).get('records') ?? {};
      this.isDone = asOf >= this.madeAt;
      if (this.isDone) return undefined;
      return `${Math.min(99, Math.floor((100 * Math.max(0, position)) / Math.max(1, head)))} % of the log has been read`;
    } catch (error) {
      this.looking = undefined;
      throw asUnavailable(error);
    }
  }
}

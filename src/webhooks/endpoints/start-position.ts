import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Invalid } from '../../errors.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';
import { readDate } from '../../http/range.js';
import { InitialBackfill } from '../../records/initial-backfill.js';
import { FEED_END, FEED_POSITION_AT } from './statements.js';
import type { StartPosition } from './webhook.js';

/** Finds the position in the log after which the deliveries to an endpoint start. */
@Injectable()
export class StartPositions {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly backfill: InitialBackfill,
  ) {}

  /**
   * @param from `beginning`, an ISO time, or absent: the feed's current end
   * @throws Invalid if `from` is invalid or in the future
   * @throws Unavailable if the log or the database is unavailable, or the feed has not been built yet
   */
  async find(organization: string, from: string | undefined): Promise<StartPosition> {
    if (from === 'beginning') return this.beginning();
    const instant = from === undefined ? undefined : readDate('from', from).from;
    await this.backfill.requireComplete();
    if (instant === undefined) {
      const [end] = await FEED_END.run(this.pool, {});
      return end === undefined ? this.beginning() : { startAfter: end.position, startLog: end.log };
    }
    const [found] = await FEED_POSITION_AT.run(this.pool, { organization, instant });
    if (found !== undefined && instant > found.latest) throw new Invalid('from must not be in the future');
    return found === undefined ? this.beginning() : { startAfter: found.position, startLog: found.log };
  }

  private async beginning(): Promise<StartPosition> {
    return { startAfter: Number(BEGINNING), startLog: await this.log.id() };
  }
}

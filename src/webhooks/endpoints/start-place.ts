import { Injectable } from '@nestjs/common';
import { Invalid } from '../../errors.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';
import { readDate } from '../../http/range.js';
import { WatchPool } from '../../read-models/pools.js';
import { InitialBackfill } from '../../records/initial-backfill.js';
import { FEED_END, FEED_PLACE_AT } from './statements.js';
import type { StartPlace } from './webhook.js';

/** The position in the log after which the deliveries to an endpoint begin. */
@Injectable()
export class StartPlaces {
  constructor(
    private readonly pool: WatchPool,
    private readonly log: EventLog,
    private readonly backfill: InitialBackfill,
  ) {}

  /**
   * @param from `beginning`, an ISO time, or absent: the feed's current end
   * @throws Invalid if `from` is none of these, or in the future
   * @throws Unavailable if the log or the database is unavailable, or the feed is not filled yet
   */
  async find(organization: string, from: string | undefined): Promise<StartPlace> {
    if (from === 'beginning') return this.beginning();
    const instant = from === undefined ? undefined : readDate('from', from).from;
    await this.backfill.requireComplete();
    if (instant === undefined) {
      const [end] = await FEED_END.run(this.pool, {});
      return end === undefined ? this.beginning() : { startAfter: end.position, startLog: end.log };
    }
    const [place] = await FEED_PLACE_AT.run(this.pool, { organization, instant });
    if (place !== undefined && instant > place.latest) throw new Invalid('from must not be in the future');
    return place === undefined ? this.beginning() : { startAfter: place.position, startLog: place.log };
  }

  private async beginning(): Promise<StartPlace> {
    return { startAfter: Number(BEGINNING), startLog: await this.log.id() };
  }
}

import { Injectable } from '@nestjs/common';
import { Invalid } from '../../errors.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';
import { readDate } from '../../http/range.js';
import { WatchPool } from '../../read-models/pools.js';
import { FirstFill } from '../../records/first-fill.js';
import { FEED_END } from './statements.js';
import type { StartPlace } from './webhook.js';

/** Where in the log an endpoint begins. */
@Injectable()
export class StartPlaces {
  constructor(
    private readonly pool: WatchPool,
    private readonly log: EventLog,
    private readonly fill: FirstFill,
  ) {}

  /**
   * @param from `beginning`, an ISO time, or absent: the feed's present end
   * @throws Invalid if it is none of these, or in the future
   * @throws Unavailable if the log or the database is unavailable, or the feed is not filled yet
   */
  async find(from: string | undefined): Promise<StartPlace> {
    if (from === undefined) {
      await this.fill.done();
      const [end] = await FEED_END.run(this.pool, {});
      if (end !== undefined) return { startAfter: end.position, startLog: end.log };
    }
    const startLog = await this.log.id();
    if (from === undefined || from === 'beginning') return { startAfter: Number(BEGINNING), startLog };
    const instant = readDate('from', from).from;
    if (instant > Date.now()) throw new Invalid('from must not be in the future');
    return { startAfter: Number(await lastBefore(this.log, instant)), startLog };
  }
}

/** The position of the last event that the log took before an instant (ms), by halves. */
export const lastBefore = async (log: EventLog, instant: number): Promise<bigint> => {
  let [low, high] = [BEGINNING, await log.head()];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    const [event] = await log.readAll(middle - 1n, 1);
    if (event !== undefined && event.position <= high && event.recordedAt < instant) low = event.position;
    else high = middle - 1n;
  }
  return low;
};

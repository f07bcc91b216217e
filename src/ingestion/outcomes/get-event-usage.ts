import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../../http/requests.js';
import { Pool } from 'pg';
import { Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { dayOf, formatDay } from '../../events/instant.js';
import { type Caller, ownerOf } from '../../http/access/caller.js';
import { DatabaseClock } from '../../postgres/clock.js';
import { DailyQuota } from '../../quotas/daily-quota.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { readDay, KEPT_DAYS, READ_EVENT_USAGE } from './usage-log.js';
import type { EventUsageDto } from './outcomes.dto.js';

/**
 * Counts the events that the keys of an organization, or one key without an organization, have sent, by day, type and
 * outcome. `from` and `to` are UTC days, as sent.
 */
export class GetEventUsage extends queryOf<
  AtPosition<EventUsageDto>,
  { readonly caller: Caller; readonly from: string | undefined; readonly to: string | undefined }
>() {}

@QueryHandler(GetEventUsage)
export class GetEventUsageHandler implements IQueryHandler<GetEventUsage> {
  constructor(
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
    private readonly clock: DatabaseClock,
    private readonly quota: DailyQuota,
  ) {}

  /**
   * @throws Invalid for an invalid day, or a range that ends before it starts
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the database is unavailable
   */
  execute({ caller, from: firstDay, to: lastDay }: GetEventUsage): Promise<AtPosition<EventUsageDto>> {
    const today = dayOf(this.clock.now());
    const to = Math.min(today, lastDay === undefined ? today : readDay('to', lastDay));
    const from = Math.max(today - KEPT_DAYS + 1, firstDay === undefined ? -Infinity : readDay('from', firstDay));
    if (firstDay !== undefined && readDay('from', firstDay) > to)
      throw new Invalid('from must be on or before to, and must not be after today');
    const owner = ownerOf(caller);
    return this.concurrency.run(owner, JSON.stringify(['usage', from, to]), async () => {
      const [read] = await READ_EVENT_USAGE.run(this.pool, { owner, from, to }, TIME_LIMIT_MS);
      const { organization } = caller;
      const quota = organization === undefined ? undefined : await this.quota.left(organization);
      const usage = read!.rows.map(({ day, ...row }) => ({ day: formatDay(day), ...row }));
      return { result: { usage, ...(quota && { quota }) }, position: BigInt(read!.position) };
    });
  }
}

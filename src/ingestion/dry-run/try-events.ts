import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { GuardedHosts } from '../../verdicts/guarded-hosts.js';
import { ErasedOrganizations } from '../../event-log/rewriting/erased-organizations.js';
import { EventLog } from '../../event-log/event-log.js';
import { TimeSlices } from '../../flow/time-slices.js';
import type { Origin } from '../../http/access/origin.js';
import { arrayJson } from '../../http/json/array-json.js';
import { columnsOf } from '../../postgres/columns.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { READ_RECORD_STATES } from '../record-states-sql.js';
import type { LazyEvents } from '../receive/content-mode.js';
import { decide, type Decision, requireAccepted, type SentEvents } from '../receive/decide-events.js';
import type { RecordedEvents } from '../receive/record-events.js';
import { triedEvents, wouldCount } from './would-count.js';

/**
 * Returns the response that `RecordEvents` would give now, and the metrics that each event would change. Nothing is
 * stored.
 */
export class TryEvents extends Query<string> implements SentEvents {
  constructor(
    readonly events: LazyEvents,
    readonly latest: number,
    readonly organization: string | undefined,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@QueryHandler(TryEvents)
export class TryEventsHandler implements IQueryHandler<TryEvents> {
  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly concurrency: RequestConcurrency,
    private readonly slices: TimeSlices,
    private readonly guardedHosts: GuardedHosts,
    private readonly erased: ErasedOrganizations,
  ) {}

  /**
   * @returns the response as JSON, which may be megabytes long
   * @throws Invalid if every event would be rejected
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database cannot be reached
   */
  async execute(query: TryEvents): Promise<string> {
    const owner = query.organization ?? query.origin.keyId ?? '';
    const decision = await this.slices.run(owner, decide(query, this.guardedHosts, this.erased));
    requireAccepted(decision);
    return this.concurrency.run(owner, undefined, () => this.try(owner, decision));
  }

  private async try(owner: string, { entries, repeated, rejected, warnings }: Decision): Promise<string> {
    const found = await this.log.find(entries.map(({ stream, event: { id } }) => ({ stream, id })));
    const newEntries = entries.filter((_, n) => found[n] === undefined);
    const response: RecordedEvents = {
      accepted: newEntries.length,
      duplicates: repeated.length + entries.length - newEntries.length,
      rejected,
      ...(warnings.length > 0 && { warnings }),
    };
    const tried = await this.slices.run(owner, triedEvents(newEntries));
    const records = columnsOf(
      tried.map(({ record }) => record),
      ...(['organization', 'kind', 'id'] as const),
    );
    const counted = await READ_RECORD_STATES.run(this.pool, records, TIME_LIMIT_MS);
    const events = await this.slices.run(owner, wouldCount(tried, counted));
    const json = await this.slices.run(owner, arrayJson(events));
    return `${JSON.stringify(response).slice(0, -1)},"events":${json}}`;
  }
}

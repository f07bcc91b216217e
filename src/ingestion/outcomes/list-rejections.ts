import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { formatDay, formatInstant } from '../../events/instant.js';
import { PageCursors } from '../../http/responses/page-cursor.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { CURSOR_RULE, type RejectionPageDto } from './outcomes.dto.js';
import { readDay } from './usage-log.js';
import { LIST_REJECTIONS } from './rejection-log.js';

interface RejectionFilter {
  /** A UTC day, as sent. */
  readonly from?: string | undefined;
  readonly reason?: string | undefined;
  /** An upstream type, or `other`. */
  readonly type?: string | undefined;
}

/** Lists a page of the rejected events of an organization, or of a key without an organization. */
export class ListRejections extends Query<AtPosition<RejectionPageDto>> {
  constructor(
    readonly owner: string,
    readonly filter: RejectionFilter,
    readonly limit: number,
    /** The `nextCursor` of the previous page. */
    readonly cursor: string | undefined,
  ) {
    super();
  }
}

/** A cursor before the first row: its day is later than any stored day. */
const FIRST_PAGE: readonly [day: number, keyId: string, reason: string, type: string] = [2 ** 31 - 1, '', '', ''];

@QueryHandler(ListRejections)
export class ListRejectionsHandler implements IQueryHandler<ListRejections> {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws Invalid for an invalid day or cursor
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable
   */
  async execute({ owner, filter, limit, cursor }: ListRejections): Promise<AtPosition<RejectionPageDto>> {
    const from = filter.from === undefined ? 0 : readDay('from', filter.from);
    const cursors = new PageCursors(await this.log.id(), 'rejections', CURSOR_RULE);
    const after = cursor === undefined ? FIRST_PAGE : cursors.read(undefined, cursor, FIRST_PAGE);
    const [day, keyId, reason, type] = after;
    const parameters = { owner, from, day, keyId, reason, type, limit: limit + 1 };
    const { reason: ofReason = '', type: ofType = '' } = filter;
    return this.concurrency.run(owner, JSON.stringify(['rejected', filter, limit, after]), async () => {
      // One extra row shows whether there is another page.
      const [read] = await LIST_REJECTIONS.run(this.pool, { ...parameters, ofReason, ofType }, TIME_LIMIT_MS);
      const { rows, position } = read!;
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      const result = {
        items: shown.map(({ sample, ...row }) => ({
          ...row,
          day: formatDay(row.day),
          lastAt: formatInstant(row.lastAt),
          sample: { ...sample, issues: sample.issues.map((message) => ({ message })) },
        })),
        ...(rows.length > limit && {
          nextCursor: cursors.write(undefined, [last!.day, last!.keyId, last!.reason, last!.type]),
        }),
      };
      return { result, position: BigInt(position) };
    });
  }
}

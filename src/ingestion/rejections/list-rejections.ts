import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { formatDay, formatInstant } from '../../events/instant.js';
import { RequestTurns, TIME_LIMIT_MS } from '../../read-models/request-turns.js';
import { cursorAfter, readCursor } from '../page-cursor.js';
import { readDay } from '../utc-day.js';
import type { RejectionPageDto } from './rejections.dto.js';
import { LIST_REJECTIONS } from './statements.js';

export interface RejectionFilter {
  /** A UTC day, as sent. */
  readonly from?: string | undefined;
  readonly reason?: string | undefined;
  /** An upstream type, or `other`. */
  readonly type?: string | undefined;
}

/** A page of what was rejected of an organization's events, or of those of a key without one. */
export class ListRejections extends Query<RejectionPageDto> {
  constructor(
    readonly owner: string,
    readonly filter: RejectionFilter,
    readonly limit: number,
    /** From the page before. */
    readonly cursor: string | undefined,
  ) {
    super();
  }
}

/** Greater than any day that a table holds. */
const AFTER_ALL = [2 ** 31 - 1, '', '', ''] as const;
const MAX_DAY = 2 ** 31 - 1;
@QueryHandler(ListRejections)
export class ListRejectionsHandler implements IQueryHandler<ListRejections> {
  constructor(
    private readonly pool: Pool,
    private readonly turns: RequestTurns,
  ) {}

  /**
   * @throws Invalid for a day that is none, or a cursor of no page
   * @throws TooManyRequests if too many requests of the organization are waiting, Unavailable if the database is
   */
  execute({ owner, filter, limit, cursor }: ListRejections): Promise<RejectionPageDto> {
    const from = filter.from === undefined ? 0 : readDay('from', filter.from);
    const after: readonly [number, string, string, string] =
      cursor === undefined ? AFTER_ALL : readCursor(cursor, AFTER_ALL);
    const [day, keyId, reason, type] = after;
    const asked = { owner, from, day: Math.max(-1, Math.min(day, MAX_DAY)), keyId, reason, type, limit: limit + 1 };
    const { reason: ofReason = '', type: ofType = '' } = filter;
    return this.turns.runInTurn(owner, JSON.stringify(['rejected', filter, limit, cursor]), async () => {
      // One extra row says whether there is another page.
      const rows = await LIST_REJECTIONS.run(this.pool, { ...asked, ofReason, ofType }, TIME_LIMIT_MS);
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return {
        items: shown.map(({ sample, ...row }) => ({
          ...row,
          day: formatDay(row.day),
          lastAt: formatInstant(row.lastAt),
          sample: { ...sample, issues: sample.issues.map((message) => ({ message })) },
        })),
        ...(rows.length > limit && { nextCursor: cursorAfter([last!.day, last!.keyId, last!.reason, last!.type]) }),
      };
    });
  }
}

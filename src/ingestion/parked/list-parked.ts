import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { EventLog } from '../../event-log/event-log.js';
import { formatInstant } from '../../events/instant.js';
import { type Caller, ownerOf } from '../../http/access/caller.js';
import { PageCursors } from '../../http/answers/page-cursor.js';
import { RequestTurns, TIME_LIMIT_MS } from '../../read-models/request-turns.js';
import { NO_CURSOR } from '../page.dto.js';
import type { ParkedEventDto, ParkedPageDto } from './parked.dto.js';
import { parkedReason } from './parked-reason.js';
import { LIST_PARKED, type ParkedRow } from './statements.js';

/** A page of the parked events of a key's organization, or of those that a key without one has sent. */
export class ListParked extends Query<ParkedPageDto> {
  constructor(
    readonly caller: Caller,
    readonly limit: number,
    /** From the page before. */
    readonly cursor: string | undefined,
  ) {
    super();
  }
}

/** Greater than any position of the log. */
const AFTER_ALL: readonly [position: number, projection: string] = [Number.MAX_SAFE_INTEGER, ''];

const textOf = (metadata: unknown, name: string): string | null => {
  const value = (metadata as Record<string, unknown> | null)?.[name];
  return typeof value === 'string' ? value : null;
};

const shown = ({ projection, type, metadata, reason, parkedAt, recordedAt, attempts }: ParkedRow): ParkedEventDto => ({
  source: textOf(metadata, 'source'),
  id: textOf(metadata, 'id'),
  type,
  projection,
  since: formatInstant(parkedAt),
  storedAt: recordedAt === null ? null : formatInstant(recordedAt),
  attempts,
  reason: parkedReason(reason),
});

@QueryHandler(ListParked)
export class ListParkedHandler implements IQueryHandler<ListParked> {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly turns: RequestTurns,
  ) {}

  /**
   * @throws Invalid for a cursor of no page
   * @throws TooManyRequests if too many requests of the organization are waiting, Unavailable if the database is
   */
  async execute({ caller, limit, cursor }: ListParked): Promise<ParkedPageDto> {
    const owner = ownerOf(caller);
    const list = caller.organization === undefined ? LIST_PARKED.ofKey : LIST_PARKED.ofOrganization;
    const cursors = new PageCursors(await this.log.id(), 'parked events', NO_CURSOR);
    const after = cursor === undefined ? AFTER_ALL : cursors.read(undefined, cursor, AFTER_ALL);
    const asked = { owner, position: after[0], projection: after[1], limit: limit + 1 };
    return this.turns.runInTurn(owner, JSON.stringify(['parked', limit, after]), async () => {
      // One extra row says whether there is another page.
      const rows = await list.run(this.pool, asked, TIME_LIMIT_MS);
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      return {
        items: page.map(shown),
        ...(rows.length > limit && { nextCursor: cursors.write(undefined, [last!.position, last!.projection]) }),
      };
    });
  }
}

import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../../http/requests.js';
import { Pool } from 'pg';
import { json, statement } from '../../postgres/statement.js';
import { ALL_PROJECTIONS, IS_OF_THIS_VERSION, rowsAtPosition } from '../../read-models/checkpoints.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { formatInstant } from '../../events/instant.js';
import { type Caller, ownerOf } from '../../http/access/caller.js';
import { PageCursors } from '../../http/responses/page-cursor.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../../read-models/request-concurrency.js';
import { CURSOR_RULE, type ParkedEventDto, type ParkedPageDto } from './outcomes.dto.js';

/**
 * Returns why an event is parked, for the sender of the event. A database error is shown only to the operator.
 * @param reason why the event could not be parsed; null if the database failed to apply the event
 */
export const parkedReason = (reason: string | null): string =>
  reason ?? 'the event could not be applied; the operator has the details';

interface ParkedRow {
  readonly position: number;
  readonly projection: string;
  readonly type: string;
  readonly metadata: unknown;
  readonly reason: string | null;
  /** ms */
  readonly parkedAt: number;
  /** ms */
  readonly recordedAt: number | null;
  readonly attempts: number;
}

/** A page of the parked events whose `column` has a value, newest in the log first. Metadata above 16 KiB is omitted. */
const listParkedBy = <const Name extends string>(name: Name, column: string) =>
  statement(
    `parked-of-${name}`,
    { owner: 'text', position: 'bigint', projection: 'text', limit: 'bigint' },
    { position: 'bigint', rows: json<readonly ParkedRow[]>() },
    rowsAtPosition(
      `
      select position, projection, type,
        case when octet_length(metadata::text) <= 16384 then metadata end as metadata,
        case when unreadable then left(reason, 2000) end as reason,
        parked_at as "parkedAt", recorded_at as "recordedAt", attempts
      from read.parked_events where ${column} = :owner and (position, projection) < (:position, :projection)
        and ${IS_OF_THIS_VERSION}
      order by position desc, projection desc limit :limit`,
      ...ALL_PROJECTIONS,
    ),
  );

export const LIST_PARKED = {
  ofOrganization: listParkedBy('organization', 'organization'),
  ofKey: listParkedBy('key', 'key_id'),
};

/**
 * Lists a page of the parked events of an organization, or of the parked events that a key without an organization has
 * sent.
 */
export class ListParked extends queryOf<
  AtPosition<ParkedPageDto>,
  { readonly caller: Caller; readonly limit: number; readonly cursor: string | undefined }
>() {}

/** A cursor before the first row: its position is greater than any position in the log. */
const FIRST_PAGE: readonly [position: number, projection: string] = [Number.MAX_SAFE_INTEGER, ''];

const textOf = (metadata: unknown, name: string): string | null => {
  const value = (metadata as Record<string, unknown> | null)?.[name];
  return typeof value === 'string' ? value : null;
};

const toDto = ({ projection, type, metadata, reason, parkedAt, recordedAt, attempts }: ParkedRow): ParkedEventDto => ({
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
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws Invalid for an invalid cursor
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable
   */
  async execute({ caller, limit, cursor }: ListParked): Promise<AtPosition<ParkedPageDto>> {
    const owner = ownerOf(caller);
    const list = caller.organization === undefined ? LIST_PARKED.ofKey : LIST_PARKED.ofOrganization;
    const cursors = new PageCursors(await this.log.id(), 'parked events', CURSOR_RULE);
    const after = cursor === undefined ? FIRST_PAGE : cursors.read(undefined, cursor, FIRST_PAGE);
    const parameters = { owner, position: after[0], projection: after[1], limit: limit + 1 };
    return this.concurrency.run(owner, JSON.stringify(['parked', limit, after]), async () => {
      // One extra row shows whether there is another page.
      const [read] = await list.run(this.pool, parameters, TIME_LIMIT_MS);
      const { rows, position } = read!;
      const page = rows.slice(0, limit);
      const last = page.at(-1);
      const result = {
        items: page.map(toDto),
        ...(rows.length > limit && { nextCursor: cursors.write(undefined, [last!.position, last!.projection]) }),
      };
      return { result, position: BigInt(position) };
    });
  }
}

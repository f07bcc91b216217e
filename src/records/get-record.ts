import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { NotFound } from '../errors.js';
import { type AsOf, momentOf } from '../http/responses/send-snapshot.js';
import { LISTED_KIND, type ListedKind } from '../events/listed-items.js';
import type { RowOf } from '../postgres/statement.js';
import { type AnswerFrom, RecordQueries } from './record-queries.js';
import { FIND_RECORD } from './statements.js';

/** Reads one record as JSON. */
export class GetRecord extends Query<AsOf<string>> {
  constructor(
    readonly organization: string,
    readonly kind: ListedKind,
    readonly id: string,
    /** The response must reflect all events up to this position of the log. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

const NAMES: Readonly<Record<ListedKind, string>> = {
  report: 'Report',
  threat: 'Threat',
  takedown: 'Takedown',
  verdict: 'Verdict',
  dispute: 'Dispute',
};

@QueryHandler(GetRecord)
export class GetRecordHandler implements IQueryHandler<GetRecord> {
  constructor(private readonly queries: RecordQueries) {}

  /**
   * @throws as `RecordQueries.run`
   * @throws NotFound if the organization has no such record
   */
  execute({ organization, kind, id, minPosition }: GetRecord): Promise<AsOf<string>> {
    const read: AnswerFrom<AsOf<string>> = async (send) => {
      // PostgreSQL rejects U+0000 in text. No record has the empty id.
      const key = id.includes('\0') ? '' : id;
      const query = FIND_RECORD.query({ organization, kind: LISTED_KIND[kind], id: key });
      const [row] = await send<RowOf<typeof FIND_RECORD>>(query);
      if (row!.item === null) throw new NotFound(`${NAMES[kind]} not found`);
      return { result: row!.item, ...momentOf({ asOf: row!.asOf, position: row!.upTo }) };
    };
    return this.queries.run(organization, `${kind} ${minPosition} ${id}`, read, minPosition);
  }
}

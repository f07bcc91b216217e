import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { NotFound } from '../errors.js';
import type { AsOf } from '../http/answers/send-counted.js';
import { LISTED_KIND, type ListedKind } from '../read-models/listed-kind.js';
import type { RowOf } from '../postgres/statement.js';
import { RecordQueries } from './record-queries.js';
import { FIND_RECORD, type ItemRow } from './statements.js';

/** One record. */
export class GetRecord extends Query<AsOf<ItemRow>> {
  constructor(
    readonly organization: string,
    readonly kind: ListedKind,
    readonly id: string,
  ) {
    super();
  }
}

const NAMES: Readonly<Record<ListedKind, string>> = {
  report: 'Report',
  threat: 'Threat',
  takedown: 'Takedown',
  verdict: 'Verdict',
};

@QueryHandler(GetRecord)
export class GetRecordHandler implements IQueryHandler<GetRecord> {
  constructor(private readonly queries: RecordQueries) {}

  /**
   * @throws as `RecordQueries.run`
   * @throws NotFound if the organization has no such record
   */
  execute({ organization, kind, id }: GetRecord): Promise<AsOf<ItemRow>> {
    return this.queries.run(organization, `${kind} ${id}`, async (send) => {
      // U+0000 is no text for PostgreSQL.
      const asked = id.includes('\0') ? '' : id;
      const found = FIND_RECORD.query({ organization, kind: LISTED_KIND[kind], id: asked });
      const [row] = await send<RowOf<typeof FIND_RECORD>>(found);
      if (row!.id === null) throw new NotFound(`${NAMES[kind]} not found`);
      return { answer: row as ItemRow, asOf: row!.asOf ?? 0 };
    });
  }
}

import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { LRUCache } from 'lru-cache';
import { Pool } from 'pg';
import { EventLog } from '../event-log/event-log.js';
import { assembleList, type Page } from './assemble-list.js';
import { OneLane } from './one-lane.js';
import { coalesce } from './coalesce.js';
import { READ_ROWS, READ_STATE } from './statements.js';
import { readTail } from './tail.js';

/** All groups of an organization in order of id, as JSON: `{ groups: [{ id, name, assetCount }] }`. */
export class ListAssetGroups extends Query<Buffer> {
  constructor(readonly organization: string) {
    super();
  }
}

interface State {
  /** Changes with every projection transaction that touches the organization. */
  readonly version: string;
  readonly revision: bigint;
  /** Ids assigned so far, an upper bound for the number of groups. */
  readonly lastGroupId: number;
}

interface StateRow {
  version: string | null;
  revision: number | null;
  last_group_id: number | null;
}

interface Rows extends State {
  readonly pages: readonly Page[];
  readonly assets: ReadonlyMap<number, number>;
}

interface RowsRow extends StateRow {
  /** Absent in the only row of an organization without groups. */
  last: number | null;
  json: string | null;
  assets: [id: number, n: number][] | null;
}

interface List {
  readonly version: string;
  readonly revision: bigint;
  readonly json: Buffer;
}

const STATE_TIME_LIMIT_MS = 2_500;
const ROWS_TIME_LIMIT_MS = 4_500;
/** Bytes of cached lists: some 700,000 groups. */
const MAX_BYTES = 32 * 1024 * 1024;
/** Longer lists are assembled one at a time per process, and this many may wait. */
const LARGE = 10_000;
const MAX_LARGE_WAITING = 4;

const stateOf = ({ version, revision, last_group_id }: StateRow): State => ({
  version: version ?? 'none',
  revision: BigInt(revision ?? -1),
  lastGroupId: last_group_id ?? 0,
});

/**
 * Each answer is checked to be current by one lookup in the model and one in the log; the assembled JSON is reused as
 * long as neither has changed. Requests arriving during a check share the next one.
 */
@QueryHandler(ListAssetGroups)
export class ListAssetGroupsHandler implements IQueryHandler<ListAssetGroups> {
  private readonly lists = new LRUCache<string, List>({ maxSize: MAX_BYTES });
  private readonly large = new OneLane(MAX_LARGE_WAITING);
  private readonly readers = new LRUCache<string, () => Promise<Buffer>>({ max: 1_000 });

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  execute({ organization }: ListAssetGroups): Promise<Buffer> {
    let read = this.readers.get(organization);
    if (!read) {
      read = coalesce(() => this.read(organization));
      this.readers.set(organization, read);
    }
    return read();
  }

  private async read(organization: string): Promise<Buffer> {
    const kept = this.lists.get(organization);
    if (kept) {
      const tail = readTail(this.log, organization, kept.revision);
      const [{ version }, { revision }] = await Promise.all([this.readState(organization), tail]);
      if (version === kept.version && revision === kept.revision) return kept.json;
    }
    const { lastGroupId } = await this.readState(organization);
    const assemble = (): Promise<List> => this.assemble(organization);
    const list = await (lastGroupId > LARGE ? this.large.run(assemble) : assemble());
    this.lists.set(organization, list, { size: list.json.length });
    return list.json;
  }

  private async assemble(organization: string): Promise<List> {
    const model = await this.readRows(organization);
    const { groups, revision } = await readTail(this.log, organization, model.revision);
    return { version: model.version, revision, json: await assembleList(model, groups.nameById) };
  }

  private async readState(organization: string): Promise<State> {
    const query = { ...READ_STATE, values: [organization], query_timeout: STATE_TIME_LIMIT_MS };
    return stateOf((await this.pool.query<StateRow>(query)).rows[0]!);
  }

  private async readRows(organization: string): Promise<Rows> {
    const query = { ...READ_ROWS, values: [organization], query_timeout: ROWS_TIME_LIMIT_MS };
    const { rows } = await this.pool.query<RowsRow>(query);
    const pages = rows.flatMap(({ last, json }) => (last === null || json === null ? [] : [{ last, json }]));
    return { ...stateOf(rows[0]!), pages, assets: new Map(rows[0]!.assets) };
  }
}

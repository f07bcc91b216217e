import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { LRUCache } from 'lru-cache';
import { Pool } from 'pg';
import { oneAtATime } from './one-at-a-time.js';
import { type Tail, Tails } from './tail.js';

/** All groups of an organization by number, as JSON: `{ groups: [{ id, name, assetCount }] }`. */
export class ListAssetGroups extends Query<Buffer> {
  constructor(readonly organization: string) {
    super();
  }
}

interface State {
  /** Changes with every transaction of the projection that touches the organization. */
  readonly version: string;
  readonly revision: bigint;
}

interface StateRow {
  version: string | null;
  revision: number | null;
}

interface Rows extends State {
  readonly groups: readonly [id: number, name: string][];
  readonly assets: ReadonlyMap<number, number>;
}

interface RowsRow extends StateRow {
  groups: [id: number, name: string][] | null;
  assets: [id: number, n: number][] | null;
}

interface List {
  readonly version: string;
  readonly revision: bigint;
  readonly json: Buffer;
}

const STATE = `s.tableoid || ':' || s.xmin as version, s.revision`;
const FROM_STATE = `
  from (values ($1::text)) asked (organization) left join read.asset_group_streams s using (organization)`;

const READ_STATE = { name: 'asset-groups-state', text: `select ${STATE} ${FROM_STATE}` };
const READ_ROWS = {
  name: 'asset-groups-rows',
  text: `
    select ${STATE},
      (select json_agg(json_build_array(group_id, name) order by group_id)
       from read.asset_groups where organization = $1 and name is not null) as groups,
      (select json_agg(json_build_array(group_id, n))
       from read.asset_group_counts where organization = $1) as assets
    ${FROM_STATE}`,
};

/** Milliseconds. */
const STATE_TIME_LIMIT = 2_500;
const ROWS_TIME_LIMIT = 4_500;
/** Lists kept assembled, in bytes: some 700,000 groups. */
const MOST_BYTES = 32 * 1024 * 1024;

const stateOf = ({ version, revision }: StateRow): State => ({
  version: version ?? 'none',
  revision: BigInt(revision ?? -1),
});

/** The groups by the model's rows, overruled by what the tail after them said. */
const assemble = ({ groups, assets }: Rows, tail: Tail): Buffer => {
  const names = new Map<number, string | undefined>(groups);
  let isSorted = true;
  for (const [id, name] of tail.said.names) {
    if (!names.has(id)) isSorted = false;
    names.set(id, name);
  }
  const present = [...names].filter((group): group is [number, string] => group[1] !== undefined);
  if (!isSorted) present.sort(([a], [b]) => a - b);
  return Buffer.from(
    JSON.stringify({ groups: present.map(([id, name]) => ({ id, name, assetCount: assets.get(id) ?? 0 })) }),
  );
};

/**
 * Each answer is checked to be of now, by one look-up in the model and one in the log; the assembled JSON is kept for
 * as long as both say that nothing has changed. Requests that come while such a check is under way share the next.
 */
@QueryHandler(ListAssetGroups)
export class ListAssetGroupsHandler implements IQueryHandler<ListAssetGroups> {
  private readonly lists = new LRUCache<string, List>({ maxSize: MOST_BYTES });
  private readonly readers = new LRUCache<string, () => Promise<Buffer>>({ max: 1_000 });

  constructor(
    private readonly pool: Pool,
    private readonly tails: Tails,
  ) {}

  execute({ organization }: ListAssetGroups): Promise<Buffer> {
    let read = this.readers.get(organization);
    if (!read) {
      read = oneAtATime(() => this.read(organization));
      this.readers.set(organization, read);
    }
    return read();
  }

  private async read(organization: string): Promise<Buffer> {
    const kept = this.lists.get(organization);
    if (kept) {
      const isCurrent = await this.tails.read(
        organization,
        () => this.readState(organization),
        (model, tail) => kept.version === model.version && kept.revision === tail.revision,
      );
      if (isCurrent) return kept.json;
    }
    const list = await this.tails.read(
      organization,
      () => this.readRows(organization),
      (model, tail) => ({ version: model.version, revision: tail.revision, json: assemble(model, tail) }),
    );
    this.lists.set(organization, list, { size: list.json.length });
    return list.json;
  }

  private async readState(organization: string): Promise<State> {
    const query = { ...READ_STATE, values: [organization], query_timeout: STATE_TIME_LIMIT };
    return stateOf((await this.pool.query<StateRow>(query)).rows[0]!);
  }

  private async readRows(organization: string): Promise<Rows> {
    const query = { ...READ_ROWS, values: [organization], query_timeout: ROWS_TIME_LIMIT };
    const row = (await this.pool.query<RowsRow>(query)).rows[0]!;
    return { ...stateOf(row), groups: row.groups ?? [], assets: new Map(row.assets) };
  }
}

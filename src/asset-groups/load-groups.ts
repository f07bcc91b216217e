import { Pool } from 'pg';
import { Injectable } from '@nestjs/common';
import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { CLOCK, json, nullable, statement, type RowOf } from '../postgres/statement.js';
import { positionOf } from '../read-models/checkpoints.js';
import { EventLog } from '../event-log/event-log.js';
import { readTail as readTailOf } from '../event-log/read-streams.js';
import { idempotentRequestOf } from '../events/event.js';
import { assetGroupsStream } from '../events/streams.js';
import { type AssetGroupEvent, type AssetGroups, evolve, noGroups, setName, groupNotFound } from './asset-group.js';
import type { Loaded, AtPosition } from '../event-log/command-queue.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import type { ListedAssetGroupDto } from './asset-groups.dto.js';
import { limit } from '../limits.js';

const POSITION = positionOf('asset-groups');

interface KnownResponse {
  readonly keyHash: string;
  readonly bodyHash: string;
  readonly groupId: number | null;
  readonly answeredAt: number;
}

type AssetCounts = readonly (readonly [groupId: number, n: number])[];

/**
 * The groups with these names or ids, and the responses to requests with these keys. Each part is an index lookup, so the
 * cost does not depend on the number of groups.
 */
export const KNOWN_GROUPS = statement(
  'asset-groups-known',
  { organization: 'text', names: 'text[]', groupIds: 'bigint[]', keyHashes: 'text[]' },
  {
    now: 'bigint',
    position: 'bigint',
    revision: nullable('bigint'),
    last_group_id: nullable('bigint'),
    groups: nullable(json<readonly { readonly id: number; readonly name: string }[]>()),
    answers: nullable(json<readonly KnownResponse[]>()),
    assets: nullable(json<AssetCounts>()),
  },
  `
    select ${CLOCK} as now, ${POSITION} as position, s.revision, s.last_group_id,
      (select json_agg(json_build_object('id', g.group_id, 'name', g.name))
       from (
         select group_id, name from read.asset_groups
         where organization = :organization and name = any(:names) and name is not null
         union
         select group_id, name from read.asset_groups
         where organization = :organization and group_id = any(:groupIds) and name is not null
       ) g) as groups,
      (select json_agg(json_build_object(
         'keyHash', key_hash, 'bodyHash', body_hash, 'groupId', group_id, 'answeredAt', answered_at))
       from read.asset_group_requests
       where organization = :organization and key_hash = any(:keyHashes)) as answers,
      (select json_agg(json_build_array(group_id, n))
       from read.asset_group_counts
       where organization = :organization and group_id = any(:groupIds)) as assets
    from (values (:organization)) requested (organization) left join read.asset_group_streams s using (organization)`,
);

/**
 * The groups after an id in one snapshot. The last row is the row that reaches `maxBytes`, or the last group within
 * `maxRows`. If there are no groups, the result is one row with null columns. Each row has the position and the
 * revision that the read model has reached.
 */
export const READ_GROUPS = statement(
  'asset-groups-read',
  { organization: 'text', after: 'bigint', maxRows: 'bigint', maxBytes: 'bigint' },
  {
    position: 'bigint',
    revision: nullable('bigint'),
    id: nullable('bigint'),
    name: nullable('text'),
    n: nullable('bigint'),
    /** The size in bytes of this row and all earlier rows. */
    bytes: nullable('bigint'),
  },
  `
    select at.position, s.revision, g.id, g.name, g.n, g.bytes
    from (select :organization as organization, ${POSITION} as position) at
      left join read.asset_group_streams s using (organization)
    left join lateral (
      select sized.group_id as id, sized.name, c.n, sized.bytes
      from (
        select group_id, name, row_bytes, sum(row_bytes) over (order by group_id) as bytes
        from (
          select group_id, name, octet_length(name) + 48 as row_bytes from read.asset_groups
          where organization = :organization and group_id > :after and name is not null
          order by group_id limit :maxRows
        ) next
      ) sized
      left join read.asset_group_counts c on c.organization = :organization and c.group_id = sized.group_id
      where sized.bytes - sized.row_bytes < :maxBytes
    ) g on true
    order by g.id`,
);

/** Reads the number of assets of each group. A group without assets has no row. */
export const READ_COUNTS = statement(
  'asset-groups-counts',
  { organization: 'text', ids: 'bigint[]' },
  { id: 'bigint', n: 'bigint' },
  `
    select group_id as id, n
    from read.asset_group_counts
    where organization = :organization and group_id = any(:ids)`,
);

/** Maximum number of events that a request reads. */
const MAX_TAIL = limit('events of groups that the read model lacks', 20_000, 'events', 'organization', '503');

const TYPES = [
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
] as const satisfies readonly AssetGroupEvent['type'][];

/** The groups according to the events after the revision that the read model has reached. */
export interface StreamTail {
  readonly groups: Readonly<AssetGroups>;
  /** The revision up to which the stream was read. */
  readonly revision: bigint;
}

/** @throws Unavailable if the read model is more than `maxEvents` events behind */
export const readTail = async (
  log: EventLog,
  organization: string,
  after: bigint,
  maxEvents = MAX_TAIL,
): Promise<StreamTail> => {
  const groups = noGroups();
  const tail = { stream: assetGroupsStream(organization), types: TYPES, after, maxEvents, name: 'groups' };
  const revision = await readTailOf(log, tail, (event, { metadata }) =>
    evolve(groups, event, idempotentRequestOf(metadata)),
  );
  return { groups, revision };
};

/** The part of an organization's groups that a command or a query needs. */
export interface NeededGroups {
  readonly names?: readonly string[];
  readonly ids?: readonly number[];
  /** Hashes of `Idempotency-Key`s. */
  readonly keys?: readonly string[];
}

export interface LoadedGroups extends Loaded {
  readonly groups: AssetGroups;
  /** The position of the log that the read model has reached. */
  readonly position: bigint;
  /** The asset counts of the groups that are requested by id. */
  readonly assets: ReadonlyMap<number, number>;
}

/** The state of the read model in one snapshot. */
type Row = RowOf<typeof KNOWN_GROUPS>;

/**
 * Loads the current state of a part of an organization's groups, including all earlier changes that any instance has
 * made. The state is the read model with the later events of the stream applied.
 * @throws Unavailable if the read model is too far behind
 */
export const loadGroups = async (
  pool: Pool,
  log: EventLog,
  organization: string,
  { names = [], ids = [], keys = [] }: NeededGroups,
): Promise<LoadedGroups> => {
  const values = { organization, names, groupIds: ids, keyHashes: keys };
  const model = (await KNOWN_GROUPS.run(pool, values, TIME_LIMIT_MS))[0]!;
  const { groups: tail, revision } = await readTail(log, organization, BigInt(model.revision ?? -1));
  return {
    groups: merge({ names, ids, keys }, model, tail),
    revision,
    now: model.now,
    position: BigInt(model.position),
    assets: new Map(model.assets),
  };
};

const merge = (
  { names, ids, keys }: Required<NeededGroups>,
  model: Pick<Row, 'groups' | 'answers' | 'last_group_id'>,
  tail: Readonly<AssetGroups>,
): AssetGroups => {
  const groups = noGroups();
  for (const { id, name } of model.groups ?? []) if (!tail.nameById.has(id)) setName(groups, id, name);
  for (const { keyHash, bodyHash, groupId, answeredAt } of model.answers ?? [])
    groups.responses.set(keyHash, { bodyHash, groupId: groupId ?? undefined, answeredAt });

  for (const id of ids) if (tail.nameById.has(id)) setName(groups, id, tail.nameById.get(id));
  for (const name of names) {
    const holder = tail.idByName.get(name);
    if (holder !== undefined) setName(groups, holder, name);
  }
  for (const key of keys) {
    const response = tail.responses.get(key);
    if (response) groups.responses.set(key, response);
  }
  groups.lastGroupId = Math.max(model.last_group_id ?? 0, tail.lastGroupId);
  return groups;
};

export class GetAssetGroup extends queryOf<
  AtPosition<ListedAssetGroupDto>,
  { readonly organization: string; readonly groupId: number }
>() {}

/** Reads the current state of groups, including all earlier changes that any instance has made. */
@Injectable()
export class GroupFinder {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /** @throws NotFound if the organization has no such group */
  async get(organization: string, groupId: number): Promise<AtPosition<ListedAssetGroupDto>> {
    const { result, position } = await this.find(organization, [groupId]);
    if (!result[0]) throw groupNotFound();
    return { result: result[0], position };
  }

  /** @returns the groups with these ids; ids that the organization does not have are left out */
  async find(organization: string, ids: readonly number[]): Promise<AtPosition<ListedAssetGroupDto[]>> {
    const { groups, assets, position } = await loadGroups(this.pool, this.log, organization, { ids });
    const result = ids.flatMap((id) => {
      const name = groups.nameById.get(id);
      return name === undefined ? [] : [{ id, name, assetCount: assets.get(id) ?? 0 }];
    });
    return { result, position };
  }
}

@QueryHandler(GetAssetGroup)
export class GetAssetGroupHandler implements IQueryHandler<GetAssetGroup> {
  constructor(
    private readonly groups: GroupFinder,
    private readonly concurrency: RequestConcurrency,
  ) {}

  execute({ organization, groupId }: GetAssetGroup): Promise<AtPosition<ListedAssetGroupDto>> {
    return this.concurrency.run(organization, `group ${groupId}`, () => this.groups.get(organization, groupId));
  }
}

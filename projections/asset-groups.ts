import type { PoolClient } from 'pg';
import { REDACTED } from '../src/events/redacted.js';
import { statement } from '../src/postgres/statement.js';
import { storeNewest } from './store-newest.js';
import { type IdempotentRequest, idempotentRequestOf, type EventOf, IDEMPOTENCY_TTL_MS } from '../src/events/event.js';
import { recordOf } from '../src/events/record.js';
import { hashOf } from '../src/events/stored-key.js';
import { lastWriterWins, type ProjectedEvent, type Projection } from './engine/projection.js';
import { KEY_VERSION } from '../src/assets/asset.js';
import { forEachYielding } from '../src/flow/time.js';

export const STORE_STREAMS = statement(
  'asset-groups-store-streams',
  { organization: 'text[]', revision: 'bigint[]', lastGroupId: 'bigint[]', latestAt: 'bigint[]' },
  `
    insert into asset_group_streams as s (organization, revision, last_group_id, latest_at)
    select * from unnest(:organization, :revision, :lastGroupId, :latestAt)
    on conflict (organization) do update set
      revision = greatest(s.revision, excluded.revision),
      last_group_id = greatest(s.last_group_id, excluded.last_group_id),
      latest_at = greatest(s.latest_at, excluded.latest_at)`,
);

export const STORE_GROUPS = storeNewest(
  'asset-groups-store-groups',
  'asset_groups',
  { organization: 'text', groupId: 'bigint', name: 'text', revision: 'bigint' },
  { key: ['organization', 'groupId'], orderBy: 'revision' },
);

export const STORE_RESPONSES = storeNewest(
  'asset-groups-store-responses',
  'asset_group_requests',
  {
    organization: 'text',
    idempotencyKeyHash: 'text',
    bodyHash: 'text',
    groupId: 'bigint',
    answeredAt: 'bigint',
    revision: 'bigint',
  },
  { key: ['organization', 'idempotencyKeyHash'], orderBy: 'revision', names: { idempotencyKeyHash: 'key_hash' } },
);

export const DELETE_EXPIRED_RESPONSES = statement(
  'asset-groups-delete-expired-responses',
  { organizations: 'text[]', keptMs: 'bigint' },
  `
    delete from asset_group_requests r using asset_group_streams s
    where s.organization = any(:organizations) and r.organization = s.organization
      and r.answered_at <= s.latest_at - :keptMs`,
);

/** Redacts the contents of members. A member stays in its group. */
export const REDACT_ASSETS = statement(
  'asset-groups-redact-assets',
  { organization: 'text[]', assetHash: 'text[]' },
  `
    update grouped_assets a set content = '${REDACTED}'
    from unnest(:organization, :assetHash) i (organization, asset)
    where a.organization = i.organization and a.asset = i.asset and a.content is not null`,
);

/**
 * Stores assets and updates the counts of their groups. The previous group of each asset is read once by key, because a
 * join of stored rows with previous rows would be a nested loop, whose cost grows with the square of the batch size.
 */
export const STORE_ASSETS = statement(
  'asset-groups-store-assets',
  {
    organization: 'text[]',
    assetHash: 'text[]',
    groupId: 'bigint[]',
    version: 'bigint[]',
    eventId: 'uuid[]',
    type: 'text[]',
    content: 'text[]',
  },
  `
    with newer as materialized (
      select i.*, known.group_id as old_group_id
      from unnest(:organization, :assetHash, :groupId, :version, :eventId, :type, :content)
        as i (organization, asset, group_id, version, event_id, type, content)
        left join lateral (
          select a.group_id, a.version, a.event_id from grouped_assets a
          where a.organization = i.organization and a.asset = i.asset limit 1
        ) known on true
      where known.version is null or (known.version, known.event_id) < (i.version, i.event_id)
    ), stored as (
      insert into grouped_assets (organization, asset, group_id, version, event_id, type, content)
      select organization, asset, group_id, version, event_id, type, content from newer
      on conflict (organization, asset) do update set
        group_id = excluded.group_id, version = excluded.version, event_id = excluded.event_id,
        type = excluded.type, content = excluded.content
    ), difference as (
      select organization, group_id, sum(n)::bigint as n
      from (
        select organization, group_id, 1 as n from newer
        union all
        select organization, old_group_id, -1 from newer
      ) changes
      where group_id is not null
      group by organization, group_id
      having sum(n) <> 0
    )
    merge into asset_group_counts c
    using difference d on c.organization = d.organization and c.group_id = d.group_id
    when matched and c.n + d.n = 0 then delete
    when matched then update set n = c.n + d.n
    when not matched then insert (organization, group_id, n) values (d.organization, d.group_id, d.n)`,
);

const TYPES = [
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
  'AssetGrouped',
  'AssetUngrouped',
  'ContentRedacted',
] as const;

export type GroupEvent = EventOf<(typeof TYPES)[number]>;

/** The progress of an organization's stream of group events, as far as the batch shows it. */
interface StreamState {
  readonly organization: string;
  revision: bigint;
  lastGroupId: number;
  latestAt: number;
}

interface Group {
  readonly organization: string;
  readonly groupId: number;
  /** Null if the group was deleted. */
  readonly name: string | null;
  readonly revision: bigint;
}

interface IdempotentResponse extends IdempotentRequest {
  readonly organization: string;
  readonly groupId: number | null;
  readonly answeredAt: number;
  readonly revision: bigint;
}

interface GroupedAsset {
  readonly organization: string;
  readonly assetHash: string;
  /** Null if the asset is in no group. */
  readonly groupId: number | null;
  readonly version: number;
  readonly eventId: string;
  /** The asset's type as reported; null if the asset is in no group. */
  readonly type: string | null;
  /** The asset's content as reported; null if the asset is in no group. */
  readonly content: string | null;
}

/** The key of an asset whose content was redacted. */
type RedactedMember = Pick<GroupedAsset, 'organization' | 'assetHash'>;

const UNGROUPED = { groupId: null, type: null, content: null };

/** The newest state of all groups, assets and responses in a batch. */
export class NewestGroups {
  readonly streams = new Map<string, StreamState>();
  readonly groups = new Map<string, Group>();
  readonly responses = new Map<string, IdempotentResponse>();
  readonly assets = new Map<string, GroupedAsset>();
  /** Assets whose content was redacted, in whatever state they were before the batch. */
  readonly redacted = new Map<string, RedactedMember>();

  add({ event, id, revision, isCopy = false, metadata }: ProjectedEvent<GroupEvent>): void {
    if (event.type === 'ContentRedacted') {
      // The earlier events in the stream are redacted as well, and the copy must not redact a later one.
      if (isCopy) return;
      const { kind, organization: owner, id: assetHash } = event.data;
      if (kind === 'groupedAsset' && owner !== undefined) this.redact({ organization: owner, assetHash });
      return;
    }
    const { organization } = event.data;
    const stream = this.stream(organization);
    switch (event.type) {
      case 'AssetGroupCreated': {
        const { groupId, name, createdAt } = event.data;
        advance(stream, revision, createdAt);
        this.addGroup({ organization, groupId, name, revision });
        stream.lastGroupId = Math.max(stream.lastGroupId, groupId);
        this.addResponse(metadata, { organization, groupId, answeredAt: createdAt, revision });
        return;
      }
      case 'AssetGroupRenamed': {
        const { groupId, name, updatedAt } = event.data;
        advance(stream, revision, updatedAt);
        this.addGroup({ organization, groupId, name, revision });
        return;
      }
      case 'AssetGroupDeleted': {
        const { groupId, deletedAt } = event.data;
        advance(stream, revision, deletedAt);
        this.addGroup({ organization, groupId, name: null, revision });
        return;
      }
      case 'AssetGroupRefused':
        advance(stream, revision, event.data.createdAt);
        this.addResponse(metadata, { organization, groupId: null, answeredAt: event.data.createdAt, revision });
        return;
      case 'AssetGrouped':
      case 'AssetUngrouped': {
        const { id: assetHash, version } = recordOf(event, hashOf({ event, metadata }));
        const member = event.type === 'AssetGrouped' ? { groupId: event.data.groupId, ...event.data.asset } : UNGROUPED;
        this.addAsset({ organization, assetHash, version, eventId: id, ...member });
      }
    }
  }

  private stream(organization: string): StreamState {
    let stream = this.streams.get(organization);
    if (!stream) {
      stream = { organization, revision: -1n, lastGroupId: 0, latestAt: 0 };
      this.streams.set(organization, stream);
    }
    return stream;
  }

  private addGroup(group: Group): void {
    const key = `${group.organization}:${group.groupId}`;
    const before = this.groups.get(key);
    if (!before || before.revision < group.revision) this.groups.set(key, group);
  }

  private addResponse(metadata: unknown, response: Omit<IdempotentResponse, keyof IdempotentRequest>): void {
    const request = idempotentRequestOf(metadata);
    if (!request) return;
    const key = `${response.organization}:${request.idempotencyKeyHash}`;
    const before = this.responses.get(key);
    if (!before || before.revision < response.revision) this.responses.set(key, { ...request, ...response });
  }

  private redact(member: RedactedMember): void {
    const key = `${member.organization}:${member.assetHash}`;
    const before = this.assets.get(key);
    if (before && before.content !== null) this.assets.set(key, { ...before, content: REDACTED });
    this.redacted.set(key, member);
  }

  private addAsset(asset: GroupedAsset): void {
    lastWriterWins(this.assets, `${asset.organization}:${asset.assetHash}`, asset);
  }
}

const advance = (stream: StreamState, revision: bigint, at: number): void => {
  if (revision > stream.revision) stream.revision = revision;
  stream.latestAt = Math.max(stream.latestAt, at);
};

/**
 * The groups of each organization, the number of assets in each group, and the responses to requests with an
 * `Idempotency-Key`. When a group is deleted, its assets and its count stay in the tables. The assets of a deleted
 * group are never shown, because no later group gets the same id.
 */
export const assetGroups: Projection<GroupEvent> = {
  name: 'asset-groups',
  versions: [KEY_VERSION],
  tables: ['asset_group_streams', 'asset_groups', 'asset_group_requests', 'grouped_assets', 'asset_group_counts'],
  types: TYPES,
  prepare: async (events) => {
    const newest = new NewestGroups();
    await forEachYielding(events, (event) => newest.add(event));
    return ({ connection }) => write(newest, connection);
  },
};

const write = async (
  { streams, groups, responses, assets, redacted }: NewestGroups,
  connection: PoolClient,
): Promise<void> => {
  // This writes the row of every organization in the batch, even if the batch only has events about its assets.
  await STORE_STREAMS.runEach(connection, [...streams.values()]);
  await STORE_GROUPS.runEach(connection, [...groups.values()]);
  await STORE_RESPONSES.runEach(connection, [...responses.values()]);
  // Responses expire by the time of events instead of the clock, so that a rebuild deletes the same responses.
  if (groups.size + responses.size > 0)
    await DELETE_EXPIRED_RESPONSES.run(connection, { organizations: [...streams.keys()], keptMs: IDEMPOTENCY_TTL_MS });
  await REDACT_ASSETS.runEach(connection, [...redacted.values()]);
  // Assets are counted even if their group does not exist yet.
  await STORE_ASSETS.runEach(connection, [...assets.values()]);
};

import { type IdempotentRequest, idempotentRequestOf } from '../../src/events/types/asset-groups.js';
import type { EventOf } from '../../src/events/event.js';
import { recordOf } from '../../src/events/record.js';
import { lastWriterWins, type ProjectedEvent } from '../engine/projection.js';

export const TYPES = [
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
  'AssetGrouped',
  'AssetUngrouped',
] as const;

export type GroupEvent = EventOf<(typeof TYPES)[number]>;

export interface Stream {
  readonly organization: string;
  revision: bigint;
  lastGroupId: number;
  latestAt: number;
}

export interface Group {
  readonly organization: string;
  readonly groupId: number;
  /** null: deleted */
  readonly name: string | null;
  readonly revision: bigint;
}

export interface IdempotentResponse extends IdempotentRequest {
  readonly organization: string;
  readonly groupId: number | null;
  readonly answeredAt: number;
  readonly revision: bigint;
}

export interface GroupedAsset {
  readonly organization: string;
  /** The asset's hash. */
  readonly asset: string;
  /** null: in no group */
  readonly groupId: number | null;
  readonly version: number;
  readonly eventId: string;
  /** As reported; null if it is in no group. */
  readonly type: string | null;
  readonly content: string | null;
}

const UNGROUPED = { groupId: null, type: null, content: null };

/** The newest state of all groups, assets and responses in a batch. */
export class NewestGroups {
  readonly streams = new Map<string, Stream>();
  readonly groups = new Map<string, Group>();
  readonly responses = new Map<string, IdempotentResponse>();
  readonly assets = new Map<string, GroupedAsset>();

  add({ event, id, revision, metadata }: ProjectedEvent<GroupEvent>): void {
    const { organization } = event.data;
    const stream = this.stream(organization);
    switch (event.type) {
      case 'AssetGroupCreated': {
        const { groupId, name, createdAt } = event.data;
        advance(stream, revision, createdAt);
        this.group({ organization, groupId, name, revision });
        stream.lastGroupId = Math.max(stream.lastGroupId, groupId);
        this.response(metadata, { organization, groupId, answeredAt: createdAt, revision });
        return;
      }
      case 'AssetGroupRenamed': {
        const { groupId, name, updatedAt } = event.data;
        advance(stream, revision, updatedAt);
        this.group({ organization, groupId, name, revision });
        return;
      }
      case 'AssetGroupDeleted': {
        const { groupId, deletedAt } = event.data;
        advance(stream, revision, deletedAt);
        this.group({ organization, groupId, name: null, revision });
        return;
      }
      case 'AssetGroupRefused':
        advance(stream, revision, event.data.createdAt);
        this.response(metadata, { organization, groupId: null, answeredAt: event.data.createdAt, revision });
        return;
      case 'AssetGrouped':
      case 'AssetUngrouped': {
        const { id: asset, version } = recordOf(event);
        const member = event.type === 'AssetGrouped' ? { groupId: event.data.groupId, ...event.data.asset } : UNGROUPED;
        this.asset({ organization, asset, version, eventId: id, ...member });
      }
    }
  }

  private stream(organization: string): Stream {
    let stream = this.streams.get(organization);
    if (!stream) {
      stream = { organization, revision: -1n, lastGroupId: 0, latestAt: 0 };
      this.streams.set(organization, stream);
    }
    return stream;
  }

  private group(group: Group): void {
    const key = `${group.organization}:${group.groupId}`;
    const before = this.groups.get(key);
    if (!before || before.revision < group.revision) this.groups.set(key, group);
  }

  private response(metadata: unknown, response: Omit<IdempotentResponse, keyof IdempotentRequest>): void {
    const request = idempotentRequestOf(metadata);
    if (!request) return;
    const key = `${response.organization}:${request.idempotencyKeyHash}`;
    const before = this.responses.get(key);
    if (!before || before.revision < response.revision) this.responses.set(key, { ...request, ...response });
  }

  private asset(asset: GroupedAsset): void {
    lastWriterWins(this.assets, `${asset.organization}:${asset.asset}`, asset);
  }
}

const advance = (stream: Stream, revision: bigint, at: number): void => {
  if (revision > stream.revision) stream.revision = revision;
  stream.latestAt = Math.max(stream.latestAt, at);
};

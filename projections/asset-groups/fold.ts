import { type IdempotentRequest, idempotentRequestOf } from '../../src/events/idempotent-request.js';
import type { EventOf } from '../../src/events/event.js';
import { recordOf } from '../../src/events/record.js';
import { REDACTED } from '../../src/events/redacted.js';
import { hashOf } from '../../src/events/stored-key.js';
import { lastWriterWins, type ProjectedEvent } from '../engine/projection.js';

export const TYPES = [
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
export interface StreamState {
  readonly organization: string;
  revision: bigint;
  lastGroupId: number;
  latestAt: number;
}

export interface Group {
  readonly organization: string;
  readonly groupId: number;
  /** Null if the group was deleted. */
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
export type RedactedMember = Pick<GroupedAsset, 'organization' | 'assetHash'>;

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

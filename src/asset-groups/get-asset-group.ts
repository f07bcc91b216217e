import { Injectable } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import { EventLog } from '../event-log/event-log.js';
import type { ListedAssetGroupDto } from './asset-groups.dto.js';
import { groupNotFound } from './group-id.js';
import { FIND_GROUP } from './statements.js';
import { readTail } from './tail.js';

export class GetAssetGroup extends Query<ListedAssetGroupDto> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
  ) {
    super();
  }
}

interface Row {
  revision: number | null;
  name: string | null;
  n: number | null;
}

const TIME_LIMIT_MS = 2_500;

/** One group's current state, on every instance: the read model plus the stream's tail after it. */
@Injectable()
export class GroupFinder {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
  ) {}

  /** @throws NotFound if the organization has no such group */
  async get(organization: string, groupId: number): Promise<ListedAssetGroupDto> {
    const group = await this.find(organization, groupId);
    if (!group) throw groupNotFound();
    return group;
  }

  /** @returns undefined if the organization has no such group */
  async find(organization: string, groupId: number): Promise<ListedAssetGroupDto | undefined> {
    const model = await this.readModel(organization, groupId);
    const { nameById } = (await readTail(this.log, organization, model.revision)).groups;
    const name = nameById.has(groupId) ? nameById.get(groupId) : model.name;
    return name === undefined ? undefined : { id: groupId, name, assetCount: model.assetCount };
  }

  private async readModel(
    organization: string,
    groupId: number,
  ): Promise<{ revision: bigint; name: string | undefined; assetCount: number }> {
    const query = { ...FIND_GROUP, values: [organization, groupId], query_timeout: TIME_LIMIT_MS };
    const { revision, name, n } = (await this.pool.query<Row>(query)).rows[0]!;
    return { revision: BigInt(revision ?? -1), name: name ?? undefined, assetCount: n ?? 0 };
  }
}

@QueryHandler(GetAssetGroup)
export class GetAssetGroupHandler implements IQueryHandler<GetAssetGroup> {
  constructor(private readonly groups: GroupFinder) {}

  execute({ organization, groupId }: GetAssetGroup): Promise<ListedAssetGroupDto> {
    return this.groups.get(organization, groupId);
  }
}

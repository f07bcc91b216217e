import { Injectable } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { RequestConcurrency } from '../../read-models/request-concurrency.js';
import type { ListedAssetGroupDto } from './asset-groups.dto.js';
import { groupNotFound } from './group-id.js';
import { loadGroups } from './load-groups.js';

export class GetAssetGroup extends Query<AtPosition<ListedAssetGroupDto>> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
  ) {
    super();
  }
}

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

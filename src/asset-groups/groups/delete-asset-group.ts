import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Origin } from '../../http/access/origin.js';
import type { DeletedAssetGroupDto } from './asset-groups.dto.js';
import { GroupCommands } from './group-commands.js';

export class DeleteAssetGroup extends Command<DeletedAssetGroupDto> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(DeleteAssetGroup)
export class DeleteAssetGroupHandler implements ICommandHandler<DeleteAssetGroup> {
  constructor(private readonly groups: GroupCommands) {}

  async execute({ organization, groupId, origin }: DeleteAssetGroup): Promise<DeletedAssetGroupDto> {
    const { assets } = await this.groups.execute({ type: 'DeleteAssetGroup', organization, groupId }, origin);
    return { success: true, id: groupId, unassignedAssetCount: assets };
  }
}

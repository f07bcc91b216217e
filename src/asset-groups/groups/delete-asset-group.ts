import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import type { DeletedAssetGroupDto } from './asset-groups.dto.js';
import { GroupCommands } from './group-commands.js';

export class DeleteAssetGroup extends Command<AtPosition<DeletedAssetGroupDto>> {
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

  async execute({ organization, groupId, origin }: DeleteAssetGroup): Promise<AtPosition<DeletedAssetGroupDto>> {
    const remove = { type: 'DeleteAssetGroup', organization, groupId } as const;
    const { result, position } = await this.groups.execute(remove, origin);
    return { result: { success: true, id: groupId, unassignedAssetCount: result.assets }, position };
  }
}

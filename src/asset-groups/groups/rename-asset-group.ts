import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Origin } from '../../http/access/origin.js';
import type { NamedAssetGroupDto } from './asset-groups.dto.js';
import { GroupCommands } from './group-commands.js';

export class RenameAssetGroup extends Command<NamedAssetGroupDto> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
    readonly name: string,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(RenameAssetGroup)
export class RenameAssetGroupHandler implements ICommandHandler<RenameAssetGroup> {
  constructor(private readonly groups: GroupCommands) {}

  async execute({ organization, groupId, name, origin }: RenameAssetGroup): Promise<NamedAssetGroupDto> {
    await this.groups.execute({ type: 'RenameAssetGroup', organization, groupId, name }, origin);
    return { id: groupId, name };
  }
}

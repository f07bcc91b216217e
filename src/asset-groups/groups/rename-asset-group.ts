import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import type { NamedAssetGroupDto } from './asset-groups.dto.js';
import { GroupCommands } from './group-commands.js';

export class RenameAssetGroup extends Command<AtPosition<NamedAssetGroupDto>> {
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

  async execute({ organization, groupId, name, origin }: RenameAssetGroup): Promise<AtPosition<NamedAssetGroupDto>> {
    const rename = { type: 'RenameAssetGroup', organization, groupId, name } as const;
    const { position } = await this.groups.execute(rename, origin);
    return { result: { id: groupId, name }, position };
  }
}

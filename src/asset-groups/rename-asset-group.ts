import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { CommandQueue } from './command-queue.js';
import type { NamedAssetGroup } from './create-asset-group.js';

export class RenameAssetGroup extends Command<NamedAssetGroup> {
  constructor(
    readonly organization: string,
    readonly groupId: number,
    readonly name: string,
  ) {
    super();
  }
}

@CommandHandler(RenameAssetGroup)
export class RenameAssetGroupHandler implements ICommandHandler<RenameAssetGroup> {
  constructor(private readonly queue: CommandQueue) {}

  async execute({ organization, groupId, name }: RenameAssetGroup): Promise<NamedAssetGroup> {
    await this.queue.execute({ type: 'RenameAssetGroup', organization, groupId, name });
    return { id: groupId, name };
  }
}

import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Origin } from '../http/access/origin.js';
import { CommandQueue } from './command-queue.js';

export interface DeletedAssetGroup {
  readonly id: number;
  /** Assets it contained, according to the read model. */
  readonly unassignedAssetCount: number;
}

export class DeleteAssetGroup extends Command<DeletedAssetGroup> {
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
  constructor(private readonly queue: CommandQueue) {}

  async execute({ organization, groupId, origin }: DeleteAssetGroup): Promise<DeletedAssetGroup> {
    const { assets } = await this.queue.execute({ type: 'DeleteAssetGroup', organization, groupId }, origin);
    return { id: groupId, unassignedAssetCount: assets };
  }
}

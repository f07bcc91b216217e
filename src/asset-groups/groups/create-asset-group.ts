import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { Origin } from '../../http/access/origin.js';
import { idempotentRequest } from '../../http/body/idempotency-key.js';
import type { NamedAssetGroupDto } from './asset-groups.dto.js';
import { GroupCommands } from './group-commands.js';

export interface CreatedAssetGroup extends NamedAssetGroupDto {
  /** Whether the result repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

export class CreateAssetGroup extends Command<AtPosition<CreatedAssetGroup>> {
  constructor(
    readonly organization: string,
    readonly name: string,
    /** The `Idempotency-Key` as sent; undefined if the client did not send one. */
    readonly idempotencyKey: string | undefined,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

@CommandHandler(CreateAssetGroup)
export class CreateAssetGroupHandler implements ICommandHandler<CreateAssetGroup> {
  constructor(private readonly groups: GroupCommands) {}

  async execute(command: CreateAssetGroup): Promise<AtPosition<CreatedAssetGroup>> {
    const { organization, name, idempotencyKey, origin } = command;
    const request = idempotentRequest(idempotencyKey, name);
    const create = { type: 'CreateAssetGroup', organization, name, request } as const;
    const { result, position } = await this.groups.execute(create, origin);
    return { result: { id: result.groupId, name, replayed: result.replayed }, position };
  }
}

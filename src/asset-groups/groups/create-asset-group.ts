import { hash } from 'node:crypto';
import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import type { IdempotentRequest } from '../../events/types/asset-groups.js';
import type { Origin } from '../../http/access/origin.js';
import type { NamedAssetGroupDto } from './asset-groups.dto.js';
import { GroupCommands } from './group-commands.js';

export interface CreatedAssetGroup extends NamedAssetGroupDto {
  /** Whether this repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

export class CreateAssetGroup extends Command<AtPosition<CreatedAssetGroup>> {
  constructor(
    readonly organization: string,
    readonly name: string,
    /** As sent; absent if the client sent none. */
    readonly idempotencyKey: string | undefined,
    readonly origin: Origin = {},
  ) {
    super();
  }
}

const PRINTABLE = /^[\x20-\x7e]{1,255}$/;

/** Hashes the parsed body, so that whitespace and unknown fields make no difference. */
const requestOf = ({ name, idempotencyKey }: CreateAssetGroup): IdempotentRequest | undefined => {
  if (idempotencyKey === undefined) return undefined;
  if (!PRINTABLE.test(idempotencyKey)) throw new Invalid('Idempotency-Key must be 1 to 255 printable characters');
  return { idempotencyKeyHash: hash('sha256', idempotencyKey), bodyHash: hash('sha256', name) };
};

@CommandHandler(CreateAssetGroup)
export class CreateAssetGroupHandler implements ICommandHandler<CreateAssetGroup> {
  constructor(private readonly groups: GroupCommands) {}

  async execute(command: CreateAssetGroup): Promise<AtPosition<CreatedAssetGroup>> {
    const { organization, name, origin } = command;
    const request = requestOf(command);
    const create = { type: 'CreateAssetGroup', organization, name, request } as const;
    const { result, position } = await this.groups.execute(create, origin);
    return { result: { id: result.groupId, name, replayed: result.replayed }, position };
  }
}

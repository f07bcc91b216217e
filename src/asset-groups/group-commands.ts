import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { commandOf } from '../http/requests.js';
import { type AtPosition, CommandQueue, declareWaiting } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { assetGroupsStream } from '../events/streams.js';
import type { IdempotentRequest } from '../events/event.js';
import type { Origin } from '../http/access/caller.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import { type AssetGroupCommand, decide, type Decision, evolve } from './asset-group.js';
import { type LoadedGroups, loadGroups, type NeededGroups } from './load-groups.js';
import { idempotentRequest } from '../http/body/validation.js';
import type { NamedAssetGroupDto, DeletedAssetGroupDto } from './asset-groups.dto.js';

/** The result of a command. */
interface CommandResult {
  readonly groupId: number;
  /** Number of assets in the group according to the read model; 0 if the command does not name a group by id. */
  readonly assets: number;
  /** Whether the result repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

/** Maximum number of commands per append. With the longest names, their events take a third of the log's size limit. */
const MAX_COMMANDS = 200;
/**
 * Maximum number of commands of one organization that wait in this process. With the longest names, these commands take
 * about 5 MB.
 */
const MAX_WAITING = declareWaiting('waiting changes of groups', 5_000);

const requestOf = (command: AssetGroupCommand): IdempotentRequest | undefined =>
  command.type === 'CreateAssetGroup' ? command.request : undefined;

/** Decides commands about groups, and appends their events. */
@Injectable()
export class GroupCommands {
  private readonly commands: CommandQueue<AssetGroupCommand, LoadedGroups, Decision>;

  constructor(log: EventLog, pool: Pool, quota: DailyQuota) {
    const rules = {
      name: 'groups',
      maxCommands: MAX_COMMANDS,
      maxWaiting: MAX_WAITING,
      stream: assetGroupsStream,
      load: (organization: string, commands: readonly AssetGroupCommand[]) =>
        loadGroups(pool, log, organization, neededBy(commands)),
      decide: ({ groups }: LoadedGroups, command: AssetGroupCommand, now: number) => decide(groups, command, now),
      apply: ({ groups }: LoadedGroups, { events }: Decision, command: AssetGroupCommand) => {
        for (const event of events) evolve(groups, event, requestOf(command));
      },
      metadata: requestOf,
    };
    this.commands = new CommandQueue(log, rules, quota);
  }

  /**
   * @throws Conflict, NotFound or Unprocessable if the command is rejected
   * @throws TooManyRequests if the organization's daily quota is used up, or too many commands of the organization are
   *   waiting
   * @throws Unavailable if the outcome is unknown or nothing was done
   */
  async execute(command: AssetGroupCommand, origin: Origin = {}): Promise<AtPosition<CommandResult>> {
    const { decision, state, position } = await this.commands.execute(command, origin);
    const { groupId, replayed = false } = decision as Extract<Decision, { readonly groupId: number }>;
    return { result: { groupId, assets: state.assets.get(groupId) ?? 0, replayed }, position };
  }
}

/** Returns the part of the state that these commands need. */
const neededBy = (commands: readonly AssetGroupCommand[]): NeededGroups => ({
  names: commands.flatMap((command) => (command.type === 'DeleteAssetGroup' ? [] : [command.name])),
  ids: commands.flatMap((command) => (command.type === 'CreateAssetGroup' ? [] : [command.groupId])),
  keys: commands.flatMap((command) =>
    command.type === 'CreateAssetGroup' && command.request ? [command.request.idempotencyKeyHash] : [],
  ),
});

interface CreatedAssetGroup extends NamedAssetGroupDto {
  /** Whether the result repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

interface OfOrganization {
  readonly organization: string;
  /** The caller, who is stored in the metadata of the events. */
  readonly origin?: Origin;
}

interface NewAssetGroup extends OfOrganization {
  readonly name: string;
  /** The `Idempotency-Key` as sent; undefined if the client did not send one. */
  readonly idempotencyKey?: string | undefined;
}

export class CreateAssetGroup extends commandOf<AtPosition<CreatedAssetGroup>, NewAssetGroup>() {}

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

export class RenameAssetGroup extends commandOf<
  AtPosition<NamedAssetGroupDto>,
  OfOrganization & { readonly groupId: number; readonly name: string }
>() {}

@CommandHandler(RenameAssetGroup)
export class RenameAssetGroupHandler implements ICommandHandler<RenameAssetGroup> {
  constructor(private readonly groups: GroupCommands) {}

  async execute({ organization, groupId, name, origin }: RenameAssetGroup): Promise<AtPosition<NamedAssetGroupDto>> {
    const rename = { type: 'RenameAssetGroup', organization, groupId, name } as const;
    const { position } = await this.groups.execute(rename, origin);
    return { result: { id: groupId, name }, position };
  }
}

export class DeleteAssetGroup extends commandOf<
  AtPosition<DeletedAssetGroupDto>,
  OfOrganization & { readonly groupId: number }
>() {}

@CommandHandler(DeleteAssetGroup)
export class DeleteAssetGroupHandler implements ICommandHandler<DeleteAssetGroup> {
  constructor(private readonly groups: GroupCommands) {}

  async execute({ organization, groupId, origin }: DeleteAssetGroup): Promise<AtPosition<DeletedAssetGroupDto>> {
    const remove = { type: 'DeleteAssetGroup', organization, groupId } as const;
    const { result, position } = await this.groups.execute(remove, origin);
    return { result: { success: true, id: groupId, unassignedAssetCount: result.assets }, position };
  }
}

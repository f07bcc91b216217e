import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import { EventLog, type ExpectedRevision, type NewEvent, WrongExpectedRevision } from '../event-log/event-log.js';
import { toJson } from '../events/event.js';
import { assetGroupsStream } from '../events/streams.js';
import { Backoff, pause } from '../retry.js';
import type { Origin } from '../http/access/origin.js';
import { type AssetGroupCommand, type AssetGroups, decide, type Decision, evolve } from './asset-group.js';
import { groupsFor, readKnownGroups } from './known-groups.js';
import { OrganizationQueues } from './organization-queues.js';
import { StreamTailCache } from './tail.js';

/** What became of a command. */
export interface CommandResult {
  readonly groupId: number;
  /** How many assets the group had when it was decided, by the read model; counted for groups named by number. */
  readonly assets: number;
  /** Whether this is the first answer again, to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

interface Waiting {
  readonly command: AssetGroupCommand;
  readonly origin: Origin;
  readonly resolve: (done: CommandResult) => void;
  readonly reject: (error: unknown) => void;
}

/** One append holds the events of this many commands at most: with the longest names, a third of what a log takes. */
const MAX_COMMANDS = 200;
/** After this long in vain the commands are answered that the service is busy or away. Milliseconds. */
const PATIENCE = 4_000;
/** An append whose outcome is unknown is asked for again until this long after the first try. Milliseconds. */
const RETRY_WITHIN = 1_500;
const FIRST_BACK_OFF = 25;
const MAX_BACK_OFF = 400;

/**
 * Where commands become events: load, decide, append. Each organization has a queue here, and all that waits in it
 * becomes one append, so that commands of one process never contend with each other; those of other processes are
 * found by the stream's expected revision, and then everything is decided again.
 */
@Injectable()
export class CommandQueue {
  private readonly queues = new OrganizationQueues<Waiting>(
    (queue) => queue.splice(0, MAX_COMMANDS),
    (organization, batch) => this.processBatch(organization, batch),
  );

  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly tails: StreamTailCache,
  ) {}

  /**
   * @param origin whose command it is, kept in its events' metadata
   * @throws Conflict, NotFound or Unprocessable where the command is refused
   * @throws Unavailable where its outcome is unknown or nothing was done
   */
  execute(command: AssetGroupCommand, origin: Origin = {}): Promise<CommandResult> {
    return new Promise((resolve, reject) => {
      this.queues.add(command.organization, { command, origin, resolve, reject });
    });
  }

  private async processBatch(organization: string, batch: readonly Waiting[]): Promise<void> {
    const commands = batch.map(({ command }) => command);
    const giveUp = performance.now() + PATIENCE;
    for (;;) {
      const { decisions, events, expected, assets } = await this.tails.read(
        organization,
        () => readKnownGroups(this.pool, organization, commands),
        (model, tail) => ({
          ...decideAll(batch, groupsFor(commands, model, tail.state)),
          expected: tail.revision,
          assets: model.assets,
        }),
      );
      try {
        if (events.length > 0) await this.append(organization, expected, events);
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision)) throw error;
        if (performance.now() < giveUp) continue;
        throw new Unavailable('Too many others are changing the groups of this organization; try again', 1, {
          cause: error,
        });
      }
      batch.forEach(({ resolve, reject }, index) => {
        const decision = decisions[index]!;
        if (decision.refusal) reject(decision.refusal);
        else {
          const { groupId, replayed = false } = decision;
          resolve({ groupId, assets: assets.get(groupId) ?? 0, replayed });
        }
      });
      return;
    }
  }

  /** The same ids and the same expected revision again are exact, so an unknown outcome is settled by asking again. */
  private async append(organization: string, revision: bigint, events: readonly NewEvent[]): Promise<void> {
    const expected: ExpectedRevision = revision < 0n ? 'no-stream' : revision;
    const retryUntil = performance.now() + RETRY_WITHIN;
    const backoff = new Backoff(FIRST_BACK_OFF, MAX_BACK_OFF);
    for (;;) {
      try {
        await this.log.append(assetGroupsStream(organization), expected, events);
        return;
      } catch (error) {
        const wait = backoff.next();
        if (!(error instanceof Unavailable) || performance.now() + wait > retryUntil) throw error;
        await pause(wait);
      }
    }
  }
}

/** Decides one command after the other, each by what the ones before it have changed. */
const decideAll = (
  batch: readonly Pick<Waiting, 'command' | 'origin'>[],
  groups: AssetGroups,
): { decisions: readonly Decision[]; events: readonly NewEvent[] } => {
  const now = Date.now();
  const events: NewEvent[] = [];
  const decisions = batch.map(({ command, origin }) => {
    const decision = decide(groups, command, now);
    const request = command.type === 'CreateAssetGroup' ? command.request : undefined;
    for (const event of decision.events) {
      evolve(groups, event, request);
      events.push({ id: randomUUID(), type: event.type, data: toJson(event), metadata: { ...request, ...origin } });
    }
    return decision;
  });
  return { decisions, events };
};

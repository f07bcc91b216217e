import { Injectable } from '@nestjs/common';
import { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import { EventLog, type ExpectedRevision, type NewEvent, WrongExpectedRevision } from '../event-log/event-log.js';
import { newEvent } from '../event-log/new-event.js';
import { assetGroupsStream } from '../events/streams.js';
import { Backoff, pause } from '../retry.js';
import type { Origin } from '../http/access/origin.js';
import { type AssetGroupCommand, type AssetGroups, decide, type Decision, evolve } from './asset-group.js';
import { groupsFor, readKnownGroups } from './known-groups.js';
import { OrganizationQueues } from './organization-queues.js';
import { readTail } from './tail.js';

/** The result of a command. */
export interface CommandResult {
  readonly groupId: number;
  /** Assets in the group according to the read model, for commands that name a group by id. */
  readonly assets: number;
  /** Whether this repeats the first response to the same `Idempotency-Key`. */
  readonly replayed: boolean;
}

interface Waiting {
  readonly command: AssetGroupCommand;
  readonly origin: Origin;
  readonly resolve: (done: CommandResult) => void;
  readonly reject: (error: unknown) => void;
}

/** Commands per append: with the longest names, a third of the log's limit. */
const MAX_COMMANDS = 200;
/** Commands that have been retried for this long fail as unavailable. ms */
const PATIENCE = 4_000;
/** An append whose outcome is unknown is asked for again until this long after the first try. Milliseconds. */
const RETRY_WITHIN = 1_500;
const FIRST_BACK_OFF = 25;
const MAX_BACK_OFF = 400;

/**
 * Turns commands into events: load, decide, append. Each organization has a queue, and everything waiting in it becomes
 * one append, so that commands of one process never conflict with each other. Commands of other processes are detected
 * by the stream's expected revision; then everything is decided again.
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
  ) {}

  /**
   * @param origin the caller, stored in the events' metadata
   * @throws Conflict, NotFound or Unprocessable if the command is refused
   * @throws Unavailable if the outcome is unknown or nothing was done
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
      const model = await readKnownGroups(this.pool, organization, commands);
      const tail = await readTail(this.log, organization, model.revision);
      const { decisions, events } = decideAll(batch, groupsFor(commands, model, tail.groups));
      try {
        if (events.length > 0) await this.append(organization, tail.revision, events);
      } catch (error) {
        if (!(error instanceof WrongExpectedRevision)) throw error;
        if (performance.now() < giveUp) continue;
        throw new Unavailable('Too many concurrent changes to the groups of this organization; try again', 1, {
          cause: error,
        });
      }
      batch.forEach(({ resolve, reject }, index) => {
        const decision = decisions[index]!;
        if (decision.refusal) reject(decision.refusal);
        else {
          const { groupId, replayed = false } = decision;
          resolve({ groupId, assets: model.assets.get(groupId) ?? 0, replayed });
        }
      });
      return;
    }
  }

  /** Retrying with the same ids and the same expected revision is exact, so it settles an unknown outcome. */
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

/** Decides the commands in order, each on the state that the previous ones leave. */
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
      events.push(newEvent(event, { ...request, ...origin }));
    }
    return decision;
  });
  return { decisions, events };
};

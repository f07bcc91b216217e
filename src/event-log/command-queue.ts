import { TooManyRequests, Unavailable } from '../errors.js';
import type { DomainEvent } from '../events/event.js';
import { OrganizationQueues } from '../flow/concurrency-limit.js';
import { Backoff, retry } from '../flow/time.js';
import { withSpansOf, type Span, tracing } from '../runtime/tracing.js';
import { type EventLog, type ExpectedRevision, type NewEvent, WrongExpectedRevision } from './event-log.js';
import { bytesOf, newEvent } from './new-event.js';
import { limit } from '../limits.js';

/** The result of a decision: events to append, and the error for the caller if the command is rejected. */
export interface Decided {
  readonly events: readonly DomainEvent[];
  readonly refusal?: Error | undefined;
}

/** The result of a command, and a position in the log that includes its events. */
export interface AtPosition<Result> {
  readonly result: Result;
  readonly position: bigint;
}

/** The state of one organization, from which decisions about its commands are made. */
export interface Loaded {
  /** When the state was read, in ms by the database's clock. The new events have this time. */
  readonly now: number;
  /** The revision of the organization's stream that the state includes; -1 if the stream has no events. */
  readonly revision: bigint;
}

/** Declares how many commands of an organization may wait in this process. */
export const declareWaiting = (name: string, maxWaiting: number): number =>
  limit(name, maxWaiting, 'commands', 'organization', '429');

/** Defines how commands of one kind are decided. */
export interface CommandRules<Command, State extends Loaded, Decision extends Decided> {
  /** The plural noun for the things that the commands change, for messages to clients, such as `groups`. */
  readonly name: string;
  /** Maximum commands per append. */
  readonly maxCommands: number;
  /** Maximum waiting commands of one organization in this process. */
  readonly maxWaiting: number;
  stream(organization: string): string;
  /** Loads the part of the state that these commands need. */
  load(organization: string, commands: readonly Command[]): Promise<State>;
  /** @param now the time of the new events, in ms */
  decide(state: State, command: Command, now: number): Decision;
  /** Applies a decision's events in place. */
  apply(state: State, decision: Decision, command: Command): void;
  /** Whether a used-up quota does not refuse the command, because it ends what somebody else may exploit. */
  isUrgent?(command: Command): boolean;
  /** Returns metadata that is stored with the events, in addition to the caller. */
  metadata?(command: Command): object | undefined;
  /** What is stored outside of the log for accepted commands, and charged with their events. */
  readonly beside?: {
    bytes(command: Command): number;
    /** Called before the append, so that no event lacks what belongs to it. */
    store(organization: string, commands: readonly Command[]): Promise<void>;
    /** Called if the append was refused. If it fails or the process ends before, what was stored has to expire. */
    remove(organization: string, commands: readonly Command[]): Promise<void>;
  };
}

/** A number of events, and their size in bytes. */
interface Cost {
  readonly events: number;
  readonly bytes: number;
}

/** How much an organization may store. `DailyQuota` implements this interface. */
export interface EventQuota {
  refuser(organization: string): Promise<(cost: Cost) => Error | undefined>;
  charge(organization: string, cost: Cost): void;
  refund(organization: string, cost: Cost): void;
}

/** A command that was not rejected. */
export interface Executed<State, Decision> {
  readonly decision: Decision;
  /** The state after the whole batch. */
  readonly state: State;
  /** The position in the log that the state includes. */
  readonly position: bigint;
}

interface Waiting<Command, State, Decision> {
  readonly command: Command;
  /** The caller, stored in the events' metadata. */
  readonly origin: object;
  /** The active trace spans of the caller; undefined if the process does not trace. */
  readonly spans: readonly Span[] | undefined;
  readonly resolve: (executed: Executed<State, Decision>) => void;
  readonly reject: (error: unknown) => void;
}

/**
 * If other processes keep changing a stream, its commands are decided again for this long, and then fail as
 * unavailable.
 */
const MAX_CONFLICT_MS = limit('other processes that keep changing a stream', 4_000, 'ms', 'request', '503');
/** An append whose outcome is unknown is retried for this long after the first attempt. */
const MAX_APPEND_RETRY_MS = 1_500;
const FIRST_BACK_OFF_MS = 25;
const MAX_BACK_OFF_MS = 400;

/**
 * Turns commands into events: loads the state, decides and appends. Each organization has a queue, and all commands
 * that wait in the queue become one append, so that commands of one process never conflict with each other. If another
 * process has changed the stream in the meantime, the append fails because of the expected revision, and all commands
 * of the append are decided again.
 */
export class CommandQueue<Command extends { readonly organization: string }, State extends Loaded, D extends Decided> {
  private readonly queues: OrganizationQueues<Waiting<Command, State, D>>;

  constructor(
    private readonly log: EventLog,
    private readonly rules: CommandRules<Command, State, D>,
    /** If absent, no quota is charged. */
    private readonly quota?: EventQuota,
  ) {
    this.queues = new OrganizationQueues(
      (queue) => queue.splice(0, rules.maxCommands),
      (organization, batch) => withSpansOf(batch, () => this.executeBatch(organization, batch)),
    );
  }

  /**
   * @throws the `refusal` of the decision
   * @throws TooManyRequests if the organization's daily quota is used up, or too many of its commands are waiting
   * @throws Unavailable if the outcome is unknown, or if other processes kept changing the stream
   */
  execute(command: Command, origin: object = {}): Promise<Executed<State, D>> {
    const { organization } = command;
    return new Promise((resolve, reject) => {
      if (this.queues.waitingItems(organization).length >= this.rules.maxWaiting) {
        const { name } = this.rules;
        reject(new TooManyRequests(1, `Too many changes of the ${name} of this organization are waiting; try again`));
      } else this.queues.add(organization, { command, origin, spans: tracing?.active(), resolve, reject });
    });
  }

  /**
   * Decides the commands in order, each from the state that the previous commands have left, and appends their events.
   */
  private async executeBatch(organization: string, batch: readonly Waiting<Command, State, D>[]): Promise<void> {
    const { rules, quota } = this;
    const commands = batch.map(({ command }) => command);
    const giveUpAt = performance.now() + MAX_CONFLICT_MS;
    for (;;) {
      const state = await rules.load(organization, commands);
      const { revision, now } = state;
      const refusalOf = await quota?.refuser(organization);
      const events: NewEvent[] = [];
      const accepted: Command[] = [];
      let bytes = 0;
      const outcomes = batch.map(({ command, origin }): D | Error => {
        const decision = rules.decide(state, command, now);
        const metadata = { ...rules.metadata?.(command), ...origin };
        const added = decision.events.map((event) => newEvent(event, metadata));
        const after = bytes + (added.length > 0 ? bytesOf(added) + (rules.beside?.bytes(command) ?? 0) : 0);
        const isFree = added.length === 0 || rules.isUrgent?.(command) === true;
        const refusal = isFree ? undefined : refusalOf?.({ events: events.length + added.length, bytes: after });
        if (refusal) return refusal;
        rules.apply(state, decision, command);
        events.push(...added);
        if (added.length > 0) accepted.push(command);
        bytes = after;
        return decision;
      });
      // If the batch has no events, its position is the head of the log.
      const position =
        events.length === 0
          ? await this.log.head()
          : await this.append(organization, revision, events, accepted, bytes);
      if (position === undefined) {
        if (performance.now() < giveUpAt) continue;
        throw new Unavailable(`Too many concurrent changes to the ${rules.name} of this organization; try again`);
      }
      outcomes.forEach((outcome, index) => {
        const { resolve, reject } = batch[index]!;
        const refusal = outcome instanceof Error ? outcome : outcome.refusal;
        if (refusal) reject(refusal);
        else resolve({ decision: outcome as D, state, position });
      });
      return;
    }
  }

  /**
   * Charges the quota and appends. If the outcome of an append is unknown, a retry with the same ids and the same
   * expected revision has the outcome of the first attempt.
   * @returns the position of the last event; undefined if the stream has a later revision (then nothing is stored or
   *   charged)
   * @throws the error of the append (then nothing is charged)
   */
  private async append(
    organization: string,
    revision: bigint,
    events: readonly NewEvent[],
    accepted: readonly Command[],
    bytes: number,
  ): Promise<bigint | undefined> {
    const cost = { events: events.length, bytes };
    this.quota?.charge(organization, cost);
    const expected: ExpectedRevision = revision < 0n ? 'no-stream' : revision;
    const retryUntil = performance.now() + MAX_APPEND_RETRY_MS;
    const backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS);
    const append = () => this.log.append(this.rules.stream(organization), expected, events);
    const pauseAfter = (error: unknown): number | undefined => {
      const wait = backoff.next();
      return error instanceof Unavailable && performance.now() + wait <= retryUntil ? wait : undefined;
    };
    const { beside } = this.rules;
    try {
      await beside?.store(organization, accepted);
      return (await retry(append, pauseAfter)).position;
    } catch (error) {
      // An append with an unknown outcome is not charged: an outage must not use up the quota of clients that retry.
      this.quota?.refund(organization, cost);
      if (!(error instanceof Unavailable)) await beside?.remove(organization, accepted).catch(() => {});
      if (error instanceof WrongExpectedRevision) return undefined;
      throw error;
    }
  }
}

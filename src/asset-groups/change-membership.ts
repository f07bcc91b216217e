import { Injectable, Optional } from '@nestjs/common';
import { Pool } from 'pg';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { commandOf } from '../http/requests.js';
import { TooManyRequests, Unavailable } from '../errors.js';
import { KEY_VERSION } from '../assets/asset.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { BEGINNING, EventLog, type NewEvent } from '../event-log/event-log.js';
import { bytesOf, newUpstreamEvent } from '../event-log/new-event.js';
import type { Origin } from '../http/access/caller.js';
import { timeOf } from '../events/record.js';
import { databaseTime } from '../postgres/clock.js';
import { Checkpoints } from '../read-models/checkpoints.js';
import { DailyQuota } from '../quotas/daily-quota.js';
import { GroupFinder } from './load-groups.js';
import { groupNotFound } from './asset-group.js';
import {
  decideMembership,
  MAX_CONTENTS,
  type MembershipItem,
  type MembershipRequest,
  type Placement,
  type ReadContent,
  readContent,
} from './membership.js';
import { READ_PLACEMENTS } from './list-group-assets.js';
import { OrganizationQueues } from '../flow/concurrency-limit.js';
import { TimeSlices, type Work } from '../flow/turns.js';
import { TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { limit } from '../limits.js';

interface Entry {
  readonly stream: string;
  readonly event: NewEvent;
}

/** The size of the events, in bytes. */
const sizeOf = (entries: readonly Entry[]): number => bytesOf(entries.map(({ event }) => event));

interface Waiting {
  readonly request: MembershipRequest;
  /** The caller, who is stored in the metadata of the events. */
  readonly origin: Origin;
  /** When the request was queued, in ms of `performance.now()`. */
  readonly since: number;
  readonly resolve: (changed: AtPosition<readonly MembershipItem[]>) => void;
  readonly reject: (error: unknown) => void;
}

const SOURCE = 'urn:threat-protection:asset-groups';
/** Maximum number of contents of one organization that wait in this process. */
const MAX_WAITING = limit('waiting changes of group members', 8_000, 'contents', 'organization', '429');
/** How long a request waits for the projector, in ms. A failed projector is replaced within 5 s, before the client retries. */
const PROJECTION_TIMEOUT_MS = limit('wait for the read model of group members', 4_000, 'ms', 'request', '503');
/** How long a request waits in the queue before it is rejected, in ms. */
const MAX_WAIT_MS = limit('queue of changes of group members', 4_000, 'ms', 'request', '429');
/** Maximum number of events per append. Appends of other organizations run in between. */
const EVENTS_PER_APPEND = 250;
const RETRY_AFTER_SECONDS = 1;

const tooMany = (): Error =>
  new TooManyRequests(
    RETRY_AFTER_SECONDS,
    'Too many changes of this organization are waiting; retry after the number of seconds in Retry-After',
  );

/**
 * Turns membership changes into events. Each organization has a queue, whose requests are decided in order and stored
 * together. Before a decision, the queue waits until the read model includes all stored events, so that `unchanged` and
 * `moved` are exact and each event is newer than the previous event of its asset. The response is sent once the read
 * model includes the new events, so that every instance lists and counts the changes. The stored changes of an
 * organization are therefore at most one batch ahead of the projector. Between instances, and between instances and
 * upstream, the last writer wins.
 */
@Injectable()
export class MembershipQueue {
  private readonly queues = new OrganizationQueues<Waiting>(takeBatch, (organization, batch) =>
    this.processBatch(organization, batch),
  );

  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly groups: GroupFinder,
    private readonly checkpoints: Checkpoints,
    private readonly quota: DailyQuota,
    @Optional() private readonly projectionTimeoutMs: number = PROJECTION_TIMEOUT_MS,
  ) {}

  /**
   * @returns one item per content, in order
   * @throws NotFound if the organization has no such group, or the group is deleted meanwhile
   * @throws Unavailable if a part of the change may be stored; repeating the request completes the change
   * @throws TooManyRequests if too many contents of the organization are waiting, or the daily quota of the
   *   organization is used up
   */
  execute(request: MembershipRequest, origin: Origin = {}): Promise<AtPosition<readonly MembershipItem[]>> {
    return new Promise((resolve, reject) => {
      const waitingRequest: Waiting = { request, origin, since: performance.now(), resolve, reject };
      const waiting = contentsOf(this.queues.waitingItems(request.organization));
      if (waiting + request.contents.length > MAX_WAITING) reject(tooMany());
      else this.queues.add(request.organization, waitingRequest);
    });
  }

  private async processBatch(organization: string, all: readonly Waiting[]): Promise<void> {
    const batch = await this.withGroup(organization, all);
    if (batch.length === 0) return;
    let position = await this.log.head();
    await this.waitForProjection(position);
    const placements = await this.readPlacements(organization, batch);
    const now = await databaseTime(this.pool);
    const entries: Entry[] = [];
    const refusalOf = await this.quota.refuser(organization);
    let bytes = 0;
    const decided = batch.flatMap((waiting) => {
      // A request that exceeds the quota must not affect the decisions on later requests.
      const after = placementsOf(waiting.request, placements);
      const { items, events } = decideMembership(waiting.request, after, now);
      const added = events.map(({ event, hash }) =>
        newUpstreamEvent(SOURCE, event, now, waiting.origin, { version: KEY_VERSION, hash }),
      );
      const bytesAfter = bytes + sizeOf(added);
      const refusal = added.length > 0 && refusalOf({ events: entries.length + added.length, bytes: bytesAfter });
      if (refusal) {
        waiting.reject(refusal);
        return [];
      }
      for (const [hash, placement] of after) placements.set(hash, placement);
      entries.push(...added);
      bytes = bytesAfter;
      return [{ ...waiting, items }];
    });
    const last = await this.store(organization, entries, bytes);
    if (last > position) position = last;
    if (entries.length > 0) await this.waitForProjection(position);
    // Another request may have deleted the group meanwhile, and received an asset count that does not include these
    // assets.
    for (const { resolve, items } of await this.withGroup(organization, decided)) resolve({ result: items, position });
  }

  /**
   * Waits until the groups' read model, which all instances share, includes a position of the log.
   * @throws Unavailable if the projector is not running, or too far behind
   */
  private async waitForProjection(position: bigint): Promise<void> {
    if (!(await this.checkpoints.reached(['asset-groups'], position, this.projectionTimeoutMs)))
      throw new Unavailable('The change may be stored, but has not taken effect yet; repeat the request');
  }

  /** Stores events, and charges the quota for the stored events. @returns the position of the last event */
  private async store(organization: string, entries: readonly Entry[], bytes: number): Promise<bigint> {
    // The quota is charged before the first await, so that no other decision uses the same part of the quota.
    this.quota.charge(organization, { events: entries.length, bytes });
    let stored = 0;
    let last = BEGINNING;
    try {
      for (; stored < entries.length; stored += EVENTS_PER_APPEND)
        for (const { position } of await this.log.appendAll(entries.slice(stored, stored + EVENTS_PER_APPEND)))
          if (position > last) last = position;
      return last;
    } catch (error) {
      // An unknown outcome counts as not stored, so that an outage does not use up the quota of clients that retry.
      const rest = entries.slice(stored);
      this.quota.refund(organization, { events: rest.length, bytes: sizeOf(rest) });
      throw error;
    }
  }

  /** Returns the requests whose group exists, and rejects all other requests. */
  private async withGroup<One extends Waiting>(organization: string, batch: readonly One[]): Promise<One[]> {
    const ids = [...new Set(batch.map(({ request }) => request.groupId))];
    const existing = new Set((await this.groups.find(organization, ids)).result.map(({ id }) => id));
    return batch.filter(({ request, reject }) => {
      if (!existing.has(request.groupId)) reject(groupNotFound());
      return existing.has(request.groupId);
    });
  }

  private async readPlacements(organization: string, batch: readonly Waiting[]): Promise<Map<string, Placement>> {
    const contents = batch.flatMap(({ request }) => request.contents);
    const hashes = new Set(contents.flatMap((content) => (content.error ? [] : [content.hash])));
    const rows = await READ_PLACEMENTS.run(this.pool, { organization, hashes: [...hashes] }, TIME_LIMIT_MS);
    return new Map(
      rows.map(({ hash, groupId, version }) => [hash, { groupId: groupId ?? undefined, updatedAt: timeOf(version) }]),
    );
  }
}

/** Copies the placements that a request may change. */
const placementsOf = (request: MembershipRequest, all: ReadonlyMap<string, Placement>): Map<string, Placement> => {
  const copies = new Map<string, Placement>();
  for (const content of request.contents) {
    const placement = content.error ? undefined : all.get(content.hash);
    if (!content.error && placement !== undefined) copies.set(content.hash, placement);
  }
  return copies;
};

const contentsOf = (queue: readonly Waiting[]): number =>
  queue.reduce((sum, { request }) => sum + request.contents.length, 0);

/** Removes the next batch of at least one request, and rejects requests that have waited too long. */
const takeBatch = (queue: Waiting[]): Waiting[] => {
  const latest = performance.now() - MAX_WAIT_MS;
  while (queue[0] && queue[0].since < latest) queue.shift()!.reject(tooMany());
  let contents = 0;
  const end = queue.findIndex(({ request }, n) => (contents += request.contents.length) > MAX_CONTENTS && n > 0);
  return queue.splice(0, end === -1 ? queue.length : end);
};

/** Adds assets to a group or removes them. The result has one item per content, in order. */
export class ChangeMembership extends commandOf<
  AtPosition<readonly MembershipItem[]>,
  Omit<MembershipRequest, 'contents'> & { readonly contents: readonly unknown[]; readonly origin?: Origin }
>() {}

@CommandHandler(ChangeMembership)
export class ChangeMembershipHandler implements ICommandHandler<ChangeMembership> {
  constructor(
    private readonly queue: MembershipQueue,
    private readonly slices: TimeSlices,
  ) {}

  async execute({ origin, ...request }: ChangeMembership): Promise<AtPosition<readonly MembershipItem[]>> {
    const contents = await this.slices.run(request.organization, parseAll(request.contents));
    return this.queue.execute({ ...request, contents }, origin);
  }
}

function* parseAll(contents: readonly unknown[]): Work<readonly ReadContent[]> {
  const parsed: ReadContent[] = [];
  for (const content of contents) {
    parsed.push(readContent(content));
    yield;
  }
  return parsed;
}

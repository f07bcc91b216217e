import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { Registry } from 'prom-client';
import { type GroupEvent, assetGroups } from '../../projections/asset-groups.js';
import { type ProjectedEvent, transact } from '../../projections/engine/projection.js';
import { decodeEvent } from '../../projections/engine/parking.js';
import {
  type AssetGroupCommand,
  type AssetGroups,
  type Decision,
  decide,
  evolve,
  noGroups,
} from '../../src/asset-groups/asset-group.js';
import { GroupCommands } from '../../src/asset-groups/group-commands.js';
import { DailyQuota } from '../../src/quotas/daily-quota.js';
import { readConfig } from '../../src/runtime/config.js';
import { Unavailable } from '../../src/errors.js';
import type { RecordedEvent } from '../../src/event-log/event-log.js';
import { idempotentRequestOf } from '../../src/events/event.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Fate, InMemoryEventLog } from '../support/in-memory-event-log.js';

let database: TestDatabase;
let quota: DailyQuota;
beforeAll(async () => {
  database = await createDatabase();
  quota = new DailyQuota(database.pool, readConfig({}), new Registry());
});
afterAll(async () => {
  await quota.beforeApplicationShutdown();
  await database.drop();
});

const newWriter = (log: InMemoryEventLog): GroupCommands => new GroupCommands(log, database.pool, quota);

const WRITERS = 3;
type Draft =
  | { readonly type: 'CreateAssetGroup'; readonly name: string; readonly key: string | undefined }
  | { readonly type: 'RenameAssetGroup'; readonly groupId: number; readonly name: string }
  | { readonly type: 'DeleteAssetGroup'; readonly groupId: number };

const name = fc.constantFrom('A', 'B', 'C', 'D');
const groupId = fc.integer({ min: 1, max: 5 });
const draft: fc.Arbitrary<Draft> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      type: fc.constant('CreateAssetGroup' as const),
      name,
      key: fc.option(fc.constantFrom('1', '2'), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('RenameAssetGroup' as const), groupId, name }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('DeleteAssetGroup' as const), groupId }) },
);

const commandOf = (organization: string, from: Draft): AssetGroupCommand => {
  if (from.type !== 'CreateAssetGroup') return { ...from, organization };
  const { type, key } = from;
  const request = key && {
    idempotencyKeyHash: key.repeat(64),
    bodyHash: Buffer.from(from.name).toString('hex').repeat(32),
  };
  return { type, organization, name: from.name, request: request || undefined };
};

/** The outcome of a command, with the lengths of the stream when the command was sent and when it completed. */
interface Observation {
  readonly command: AssetGroupCommand;
  readonly lengthBefore: number;
  lengthAfter: number;
  /** Absent if the command was refused or if its outcome is unknown. */
  groupId?: number;
  refusal?: Error;
  isUnknown?: boolean;
}

const requestOf = (command: AssetGroupCommand) => ('request' in command ? command.request : undefined);

const agrees = (observed: Observation, decision: Decision): boolean =>
  decision.refusal
    ? observed.refusal?.message === decision.refusal.message
    : observed.refusal === undefined && observed.groupId === decision.groupId;

const groupsAfter = (events: readonly RecordedEvent[], length: number): AssetGroups => {
  const groups = noGroups();
  for (const recorded of events.slice(0, length)) {
    const read = decodeEvent(recorded);
    if (read.kind !== 'read') throw new Error(JSON.stringify(read));
    evolve(groups, read.projected.event as never, idempotentRequestOf(recorded.metadata));
  }
  return groups;
};

/**
 * Checks whether a single writer could have caused the same events and outcomes with some order of the commands that
 * keeps the order of commands that did not overlap. Returns the events and outcomes that no order explains.
 */
const findings = (events: readonly RecordedEvent[], all: readonly Observation[]): string[] => {
  const found: string[] = [];
  const unexplained = new Set(all);
  const now = Date.now();
  events.forEach((recorded, index) => {
    const groups = groupsAfter(events, index);
    const explains = (observed: Observation): boolean => {
      if (observed.lengthBefore > index || observed.lengthAfter <= index) return false;
      const decision = decide(groups, observed.command, now);
      const [event] = decision.events;
      if (event?.type !== recorded.type || !(observed.isUnknown || agrees(observed, decision))) return false;
      // Two commands with equal rejections are distinguished by their parameters.
      const request = idempotentRequestOf(recorded.metadata);
      if (request?.idempotencyKeyHash !== requestOf(observed.command)?.idempotencyKeyHash) return false;
      const { groupId: recordedId, name: recordedName } = recorded.data as Record<string, unknown>;
      const data = event.data as Record<string, unknown>;
      return data['groupId'] === recordedId && data['name'] === recordedName;
    };
    const candidates = [...unexplained].filter(explains).sort((a, b) => a.lengthAfter - b.lengthAfter);
    if (candidates.length === 0) found.push(`No command explains event ${index}, ${recorded.type}`);
    else unexplained.delete(candidates[0]!);
  });
  for (const observed of unexplained) {
    if (observed.isUnknown) continue;
    const isExplained = Array.from(
      { length: observed.lengthAfter - observed.lengthBefore + 1 },
      (_, n) => observed.lengthBefore + n,
    ).some((length) => {
      const decision = decide(groupsAfter(events, length), observed.command, now);
      return decision.events.length === 0 && agrees(observed, decision);
    });
    if (!isExplained) found.push(`No length of the stream explains ${JSON.stringify(observed)}`);
  }
  return found;
};

describe('Several writers', () => {
  it('have the same result as one writer in some order, even if responses are lost', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(draft, fc.nat(WRITERS - 1), fc.nat(3)), { minLength: 5, maxLength: 40 }),
        fc.infiniteStream(fc.nat(1_000_000)),
        async (drafts, random) => {
          const next = (limit: number): number => random.next().value! % limit;
          const organization = `org-${randomUUID().slice(0, 13)}`;
          const fates: Fate[] = ['unanswered', 'lost'];
          const log = new InMemoryEventLog([], {
            fate: () => (next(8) === 0 ? fates[next(2)]! : 'answered'),
            turns: () => next(4),
          });
          const queues = Array.from({ length: WRITERS }, () => newWriter(log));
          const all: Observation[] = [];
          const pending: Promise<void>[] = [];
          let projected = 0;
          for (const [from, writer, pause] of drafts) {
            const command = commandOf(organization, from);
            const observed: Observation = {
              command,
              lengthBefore: log.events.length,
              lengthAfter: Number.POSITIVE_INFINITY,
            };
            all.push(observed);
            pending.push(
              queues[writer]!.execute(command)
                .then(({ result }) => {
                  observed.groupId = result.groupId;
                })
                .catch((error: Error) => {
                  if (error instanceof Unavailable) observed.isUnknown = true;
                  else observed.refusal = error;
                })
                .then(() => {
                  observed.lengthAfter = log.events.length;
                }),
            );
            for (let turn = 0; turn < pause; turn += 1) await setImmediate();
            if (pause === 3) {
              // The projection processes a part of the stream.
              const events = log.events.slice(projected, projected + 1 + next(10));
              projected += events.length;
              const read = events
                .map((event) => decodeEvent(event))
                .flatMap((one) => (one.kind === 'read' ? [one.projected] : []));
              const write = await assetGroups.prepare(read as readonly ProjectedEvent<GroupEvent>[], []);
              await transact(database.pool, 'read', write);
            }
          }
          await Promise.all(pending);
          expect(findings(log.events, all)).toEqual([]);
        },
      ),
      { numRuns: Number(process.env['GROUPS_RUNS'] ?? 40), seed: 5 },
    );
  });

  it('get an immediate response while the log is unavailable, and continue when the log is available again', async () => {
    let fate: Fate = 'lost';
    const log = new InMemoryEventLog([], { fate: () => fate });
    const queue = newWriter(log);
    const organization = `org-${randomUUID().slice(0, 13)}`;
    const create = (named: string): Promise<unknown> =>
      queue.execute({ type: 'CreateAssetGroup', organization, name: named, request: undefined });
    const [first, ...queued] = ['A', 'B', 'C'].map(create);
    let answered = 0;
    for (const one of queued) one.catch(() => (answered += 1));
    await expect(first).rejects.toBeInstanceOf(Unavailable);
    await setImmediate();
    expect(answered).toBe(2);
    for (const one of queued) await expect(one).rejects.toBeInstanceOf(Unavailable);
    fate = 'answered';
    expect(await create('A')).toMatchObject({ result: { groupId: 1, assets: 0, replayed: false } });
  });
});

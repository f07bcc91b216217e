import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { v5 } from 'uuid';
import { assetGroups, type GroupEvent } from '../../projections/asset-groups.js';
import { type ProjectedEvent, transact } from '../../projections/engine/projection.js';
import { IDEMPOTENCY_TTL_MS } from '../../src/events/event.js';
import { sharedDatabase } from '../support/open-for-tests.js';

const database = sharedDatabase();
beforeEach(async () => {
  await database.pool.query(`truncate ${assetGroups.tables.map((table) => `read.${table}`).join()}`);
});

const T0 = 1_790_000_000_000;
const id = (n: number): string => v5(String(n), v5.URL);
const KEY = 'a'.repeat(64);
const BODY = 'b'.repeat(64);

/** Events as the engine passes them: positions in the order of the list, and revisions per stream. */
const recorded = (events: readonly { event: GroupEvent; metadata?: object }[]): ProjectedEvent<GroupEvent>[] => {
  const revisions = new Map<string, bigint>();
  return events.map(({ event, metadata = {} }, n) => {
    const { organization = '' } = event.data;
    const isOwn = event.type.startsWith('AssetGroup') && event.type !== 'AssetGrouped';
    const revision = isOwn ? (revisions.get(organization) ?? -1n) + 1n : 0n;
    if (isOwn) revisions.set(organization, revision);
    return { event, id: id(n), position: BigInt(n), stream: '', revision, metadata, recordedAt: 0 };
  });
};

const apply = (events: readonly ProjectedEvent[]): Promise<void> =>
  transact(database.pool, 'read', async (transaction) => {
    const write = await assetGroups.prepare(events as readonly ProjectedEvent<GroupEvent>[], []);
    await write(transaction);
  });

const rows = async (): Promise<Record<string, unknown[]>> => {
  const all: Record<string, unknown[]> = {};
  for (const table of assetGroups.tables)
    all[table] = (await database.pool.query(`select * from read.${table} order by 1, 2`)).rows;
  return all;
};

const shownGroups = async (organization = 'acme'): Promise<unknown[]> =>
  (
    await database.pool.query(
      `select group_id as id, name, coalesce(n, 0) as n
       from read.asset_groups left join read.asset_group_counts using (organization, group_id)
       where organization = $1 and name is not null order by 1`,
      [organization],
    )
  ).rows;

const created = (groupId: number, name: string, at = T0, organization = 'acme'): { event: GroupEvent } => ({
  event: { type: 'AssetGroupCreated', data: { organization, groupId, name, createdAt: at } },
});
const renamed = (groupId: number, name: string): { event: GroupEvent } => ({
  event: { type: 'AssetGroupRenamed', data: { organization: 'acme', groupId, name, updatedAt: T0 } },
});
const deleted = (groupId: number): { event: GroupEvent } => ({
  event: { type: 'AssetGroupDeleted', data: { organization: 'acme', groupId, deletedAt: T0 } },
});
const grouped = (content: string, groupId: number, updatedAt = T0, organization = 'acme'): { event: GroupEvent } => ({
  event: { type: 'AssetGrouped', data: { organization, groupId, asset: { type: 'URL', content }, updatedAt } },
});
const ungrouped = (content: string, updatedAt = T0): { event: GroupEvent } => ({
  event: { type: 'AssetUngrouped', data: { organization: 'acme', asset: { type: 'URL', content }, updatedAt } },
});

describe('The projection of asset groups', () => {
  it('separates organizations', async () => {
    await apply(recorded([created(1, 'A'), created(1, 'A', T0, 'other'), grouped('a.example', 1, T0, 'other')]));
    expect(await shownGroups()).toEqual([{ id: 1, name: 'A', n: 0 }]);
    expect(await shownGroups('other')).toEqual([{ id: 1, name: 'A', n: 1 }]);
  });

  it('stores its progress, and the last group id even after the group was deleted', async () => {
    await apply(recorded([created(1, 'A'), created(2, 'B'), deleted(2), grouped('a.example', 1)]));
    expect((await rows())['asset_group_streams']).toEqual([
      { organization: 'acme', revision: 2, last_group_id: 2, latest_at: T0 },
    ]);
  });

  it('updates the row of the organization (a new xmin) whenever a count changes', async () => {
    const xmin = async (): Promise<unknown> =>
      (await database.pool.query(`select xmin::text from read.asset_group_streams`)).rows[0];
    await apply(recorded([created(1, 'A')]));
    const before = await xmin();
    await apply(recorded([grouped('a.example', 1)]));
    expect(await xmin()).not.toEqual(before);
  });

  it('keeps the responses to requests with an Idempotency-Key for 24 hours by the time of events', async () => {
    const metadata = { idempotencyKeyHash: KEY, bodyHash: BODY };
    const refused: GroupEvent = { type: 'AssetGroupRefused', data: { organization: 'acme', name: 'A', createdAt: T0 } };
    const events = recorded([
      { ...created(1, 'A'), metadata },
      { event: refused, metadata: { ...metadata, idempotencyKeyHash: 'c'.repeat(64) } },
      { ...created(2, 'B'), metadata: { idempotencyKeyHash: 'not a hash', bodyHash: '\0' } },
      created(3, 'C', T0 + IDEMPOTENCY_TTL_MS - 1),
      created(4, 'D', T0 + IDEMPOTENCY_TTL_MS),
    ]);
    await apply(events.slice(0, 4));
    expect((await rows())['asset_group_requests']).toMatchObject([
      { key_hash: KEY, body_hash: BODY, group_id: 1, answered_at: T0, revision: 0 },
      { key_hash: 'c'.repeat(64), group_id: null, revision: 1 },
    ]);
    await apply(events.slice(4));
    expect((await rows())['asset_group_requests']).toEqual([]);
  });

  it('ends with the correct rows regardless of order, batches and repeated events', async () => {
    const asset = fc.constantFrom('a.example', 'b.example', 'c.example', 'd.example', 'https://A.example/');
    const group = fc.integer({ min: 1, max: 4 });
    const at = fc.integer({ min: T0, max: T0 + 1 });
    const event = fc.oneof(
      fc.tuple(asset, group, at).map(([content, groupId, updatedAt]) => grouped(content, groupId, updatedAt)),
      fc.tuple(asset, at).map(([content, updatedAt]) => ungrouped(content, updatedAt)),
      fc.tuple(group, fc.constantFrom('A', 'B', 'C')).map(([groupId, name]) => created(groupId, name)),
      fc.tuple(group, fc.constantFrom('A', 'B', 'C')).map(([groupId, name]) => renamed(groupId, name)),
      group.map(deleted),
    );
    await fc.assert(
      fc.asyncProperty(
        fc.array(event, { minLength: 1, maxLength: 40 }),
        fc.infiniteStream(fc.nat(1_000_000)),
        async (events, random) => {
          const log = recorded(events);
          const next = (limit: number): number => random.next().value! % limit;
          await database.pool.query(`truncate ${assetGroups.tables.map((table) => `read.${table}`).join()}`);
          await apply(log);
          const rowsInOrder = await rows();

          const deliveries = log
            .flatMap((one) => Array.from({ length: 1 + next(3) }, () => one))
            .map((one) => [next(1_000), one] as const)
            .sort(([a], [b]) => a - b)
            .map(([, one]) => one);
          await database.pool.query(`truncate ${assetGroups.tables.map((table) => `read.${table}`).join()}`);
          while (deliveries.length > 0) await apply(deliveries.splice(0, 1 + next(8)));
          expect(await rows()).toEqual(rowsInOrder);

          // The counts, recounted from the assets.
          const names = new Map<number, string | undefined>();
          const newest = new Map<string, { order: string; groupId: number | undefined }>();
          for (const { event: storedEvent, id: eventId } of log) {
            if (storedEvent.type === 'AssetGroupCreated' || storedEvent.type === 'AssetGroupRenamed')
              names.set(storedEvent.data.groupId, storedEvent.data.name);
            else if (storedEvent.type === 'AssetGroupDeleted') names.set(storedEvent.data.groupId, undefined);
            else if (storedEvent.type === 'AssetGrouped' || storedEvent.type === 'AssetUngrouped') {
              const host = storedEvent.data.asset.content.toLowerCase().replace(/^https:\/\/|\/$/g, '');
              const order = `${storedEvent.data.updatedAt} ${eventId}`;
              const groupId = storedEvent.type === 'AssetGrouped' ? storedEvent.data.groupId : undefined;
              if (order > (newest.get(host)?.order ?? '')) newest.set(host, { order, groupId });
            }
          }
          expect(await shownGroups()).toEqual(
            [...names]
              .filter(([, name]) => name !== undefined)
              .sort(([a], [b]) => a - b)
              .map(([groupId, name]) => ({
                id: groupId,
                name,
                n: [...newest.values()].filter((one) => one.groupId === groupId).length,
              })),
          );
        },
      ),
      { numRuns: 25, seed: 5 },
    );
  });
});

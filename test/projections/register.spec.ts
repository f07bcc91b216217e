import { describe, expect, it } from '@jest/globals';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { ITEM_PARTS, itemOf } from '../../src/records/item.js';
import { versionOf } from '../../projections/engine/projection.js';
import { register } from '../../projections/register/projection.js';
import type { EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { KEY_VERSION } from '../../src/assets/asset.js';
import { ITEM_VERSION, LISTED_KIND } from '../../src/events/listed-items.js';
import { usesEventStore } from '../support/logs.js';
import { newDatabase, newLogs } from '../support/open-for-tests.js';
import { projectToHead } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { eventId, recordedInOrder, sent, type Sent } from '../support/upstream.js';
import { delivered, disputes, history } from '../support/histories.js';
import { type Kind, replayed, type Seen } from '../support/naive-records.js';
import { seeds } from '../support/full-size.js';

const database = newDatabase();
const logs = newLogs();

const project = async (log: EventLog): Promise<void> =>
  expect(await projectToHead(log, database.pool, [register])).toEqual([]);

/** The events of the log. */
const storedIn = async (log: EventLog): Promise<RecordedEvent[]> =>
  (await log.readAll(-1n, 10_000)).filter(({ type }) => (register.types as readonly string[]).includes(type));

const KINDS = Object.fromEntries(Object.entries(LISTED_KIND).map(([name, kind]) => [kind, name as Kind]));
const iso = (instant: number): string => new Date(instant).toISOString();

describe('The version of the records', () => {
  it('contains the version of the asset keys and that of the items, so that no two pairs have the same version', () => {
    const stored = versionOf(register);
    expect([Math.floor(stored / 1_000), stored % 1_000]).toEqual([KEY_VERSION, ITEM_VERSION]);
  });
});

/** The rows of the tables, in the order of the feed. */
const seenInTables = async (): Promise<Seen[]> => {
  const { rows } = await database.pool.query<Record<string, any>>(
    `select *, ${ITEM_PARTS} as parts from read.register order by position, organization`,
  );
  return rows.map((row) => {
    const kind = KINDS[row['kind']]!;
    return {
      organization: row['organization'],
      kind,
      id: row['id'],
      position: BigInt(row['position']),
      eventId: row['event_id'],
      storedAt: row['stored_at'],
      item: row['parts'] === null ? undefined : JSON.parse(itemOf(row['kind'], row['id'], row['parts'])),
    };
  });
};

const brandsOf = ({ item }: Seen): string[] =>
  item === undefined ? [] : (item['brands'] ?? (item['brand'] === undefined ? [] : [item['brand']]));

/** `organization kind id brand at` of each row per brand. */
const ofBrandsInTables = async (): Promise<string[]> => {
  const { rows } = await database.pool.query<Record<string, any>>('select * from read.register_brands');
  return rows
    .map((row) => [row['organization'], KINDS[row['kind']], row['id'], row['brand'], iso(row['at'])].join(' '))
    .sort();
};
const brandRowsOf = (seen: readonly Seen[]): string[] =>
  seen
    .flatMap((each) =>
      brandsOf(each).map((brand) => {
        const at = each.item![each.kind === 'takedown' ? 'updatedAt' : 'createdAt'];
        return [each.organization, each.kind, each.id, brand, at].join(' ');
      }),
    )
    .sort();

const SEEDS = seeds(usesEventStore ? 1 : 2, 6);

describe('The projection of records', () => {
  it.each(SEEDS)(
    'stores the same as a naive replay if events arrive twice, late or out of order (seed %d)',
    async (seed) => {
      const random = new Random(seed);
      const log = await logs.create(
        recordedInOrder(delivered(random, [...history(random, 600), ...disputes(random, 60)])),
        () => random.int(random.pick([2, 30, 400])),
      );
      await project(log);
      const expected = replayed(await storedIn(log));
      expect(expected.filter(({ item }) => item !== undefined).length).toBeGreaterThan(100);
      expect(expected.filter(({ kind, item }) => kind === 'verdict' && item === undefined).length).toBeGreaterThan(5);
      expect(await seenInTables()).toEqual(expected);
      expect(await ofBrandsInTables()).toEqual(brandRowsOf(expected));
      const { rows } = await database.pool.query(
        'select count(*) filter (where history is null) as one, count(history) as several from read.entries',
      );
      expect(Math.min(rows[0].one, rows[0].several)).toBeGreaterThan(5);
      expect(await verify({ pool: database.pool, log }, [register])).toEqual([]);
    },
  );

  it('ends with the same rows regardless of batches and repeated events, and after a rebuild', async () => {
    const random = new Random(12);
    const recorded = recordedInOrder(delivered(random, [...history(random, 400), ...disputes(random, 40)]));
    const rows = async (): Promise<unknown[]> => {
      const all = [];
      for (const table of register.tables)
        all.push((await database.pool.query(`select * from read.${table} t order by t::text`)).rows);
      return all;
    };
    await project(await logs.create(recorded));
    const atOnce = await rows();
    await database.pool.query(`truncate ${[...register.tables, 'checkpoints'].map((table) => `read.${table}`).join()}`);
    await project(await logs.create(recorded, () => 1));
    expect(await rows()).toEqual(atOnce);
    // The checkpoint was restored from an older backup, so all events are applied again.
    await database.pool.query('truncate read.checkpoints');
    const log = await logs.create(recorded, () => 7);
    await project(log);
    expect(await rows()).toEqual(atOnce);
    await rebuild({ pool: database.pool, log }, [register]);
    expect(await rows()).toEqual(atOnce);
  });

  it('keeps the position of a verdict while its organization sees no difference', async () => {
    const state = (createdAt: string, ...reviews: readonly string[]): Sent =>
      sent('AssetStatusChanged', {
        changeId: 'c1',
        asset: { type: 'URL', content: 'evil.example' },
        status: 'BLOCKED',
        brandReviews: reviews.map((review) => ({ organization: review.split(':')[0], brand: review.split(':')[1] })),
        createdAt,
      });
    const [first, second] = ['2026-03-01T00:00:00Z', '2026-03-02T00:00:00Z'];
    const states = [
      state(first, 'acme:b', 'acme:a', 'other:x'),
      state(first, 'acme:a', 'other:x', 'acme:b', 'other:y'),
      state(first, 'other:z', 'acme:b', 'acme:a'),
    ];
    // Among states with the same instant, the highest event id wins, so each of these states is newer than the previous
    // one.
    const recorded = recordedInOrder(states);
    const inOrder = states.map((_, index) => index).sort((a, b) => (recorded[a]!.id < recorded[b]!.id ? -1 : 1));
    const events = [...inOrder.map((index) => states[index]!), state(second, 'other:x')];
    await project(await logs.create(recordedInOrder(events), () => 1));
    const seen = await seenInTables();
    const positions = (organization: string) =>
      seen
        .filter((each) => each.organization === organization)
        .map(({ position, item }) => [position, item?.['brands']]);
    if (usesEventStore) return;
    expect(positions('acme')).toEqual([[3n, undefined]]);
    await database.pool.query(`truncate ${[...register.tables, 'checkpoints'].map((table) => `read.${table}`).join()}`);
    await project(await logs.create(recordedInOrder(events.slice(0, 3)), () => 2));
    const before = (await seenInTables()).filter(({ organization }) => organization === 'acme');
    expect(before.map(({ position, item }) => [position, item?.['brands']])).toEqual([[0n, ['a', 'b']]]);
  });

  it('lists the corrected content of a verdict whose asset key and date stay the same', async () => {
    const state = (content: string): Sent =>
      sent('AssetStatusChanged', {
        changeId: 'c1',
        asset: { type: 'URL', content },
        status: 'BLOCKED',
        brandReviews: [{ organization: 'acme', brand: 'a' }],
        createdAt: '2026-03-01T00:00:00Z',
      });
    const states = ['evil.example', 'EVIL.example', 'hxxp://evil[.]example', 'evil.example.'].map(state);
    // Among states with the same instant, the highest event id wins.
    const inOrder = states.sort((a, b) => (eventId(a) < eventId(b) ? -1 : 1));
    for (const perBatch of [1, states.length]) {
      await database.pool.query(
        `truncate ${[...register.tables, 'checkpoints'].map((table) => `read.${table}`).join()}`,
      );
      const log = await logs.create(recordedInOrder(inOrder), () => perBatch);
      await project(log);
      const [verdict] = await seenInTables();
      expect(verdict).toMatchObject({
        item: { asset: inOrder.at(-1)!.data['asset'] },
        eventId: eventId(inOrder.at(-1)!),
      });
      expect(await verify({ pool: database.pool, log }, [register])).toEqual([]);
    }
  });

  it('moves a verdict to the event that changes when its status expires', async () => {
    const state = (expiresAt?: string): Sent =>
      sent('AssetStatusChanged', {
        changeId: 'c1',
        asset: { type: 'URL', content: 'evil.example' },
        status: 'BLOCKED',
        brandReviews: [{ organization: 'acme', brand: 'a' }],
        createdAt: '2026-03-01T00:00:00Z',
        expiresAt,
      });
    // Among states with the same instant, the highest event id wins.
    const inOrder = [undefined, '2026-04-01T00:00:00.000Z', '2026-05-01T00:00:00.000Z']
      .map(state)
      .sort((a, b) => (eventId(a) < eventId(b) ? -1 : 1));
    const log = await logs.create(recordedInOrder(inOrder), () => 1);
    for (const [index, event] of inOrder.entries()) {
      await database.pool.query(
        `truncate ${[...register.tables, 'checkpoints'].map((table) => `read.${table}`).join()}`,
      );
      await project(await logs.create(recordedInOrder(inOrder.slice(0, index + 1)), () => 1));
      const [verdict] = await seenInTables();
      expect(verdict!.eventId).toBe(eventId(event));
      expect(verdict!.item!['expiresAt']).toBe(event.data['expiresAt']);
    }
    expect(await verify({ pool: database.pool, log }, [register])).toEqual([]);
  });

  it('has a verification that finds wrong, missing and additional rows', async () => {
    const log = await logs.create(recordedInOrder(history(new Random(13), 200)));
    await project(log);
    const firstRow = (table: string): string => `ctid = (select min(ctid) from read.${table})`;
    await database.pool.query(`update read.register set position = position + 1 where ${firstRow('register')}`);
    await database.pool.query(`delete from read.register_brands where ${firstRow('register_brands')}`);
    await database.pool.query(`delete from read.entries where ${firstRow('entries')}`);
    const differences = await verify({ pool: database.pool, log }, [register]);
    expect(differences.map(({ table, side }) => `${table} ${side}`)).toEqual([
      'register only in the read model',
      'register only in the rebuild',
      'register_brands only in the rebuild',
      'entries only in the rebuild',
    ]);
  });
});

import { describe, expect, it } from '@jest/globals';
import { assetStatuses } from '../../projections/asset-statuses.js';
import { listParked } from '../../projections/engine/parked.js';
import { rebuild } from '../../projections/engine/rebuild.js';
import { verify } from '../../projections/engine/verify.js';
import { StatusEntries } from '../../src/asset-check/own/status-entries.js';
import { assetKey as keyOfAsset } from '../../src/assets/asset-key.js';
import { hashOfKey, KEY_VERSION } from '../../src/assets/asset.js';
import { eventIdOf } from '../../src/events/streams.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';
import { newDatabase } from '../support/open-for-tests.js';
import { projectToHead, retryAndProject } from '../support/projecting.js';
import { Random } from '../support/random.js';
import { eventId, recordedInOrder, sent, type Sent, SOURCE } from '../support/upstream.js';
import { delivered } from '../support/histories.js';
import { seeds } from '../support/full-size.js';

/** The key of every video before version 4. */
const VERSION_3_KEY = 'PAGE:www.youtube.com/watch';

const BASE = Date.parse('2026-03-01T00:00:00Z');

/** A status history with few entries and assets, so that all cases occur often. */
const history = (random: Random, size: number): Sent[] =>
  Array.from({ length: size }, () => {
    const spelling = random.pick(['site-N.example', 'https://Site-N.example/path', 'hxxp://site-N[.]example.']);
    const asset = { type: 'URL', content: spelling.replace('N', String(random.int(8))) };
    const changeId = `change:${random.int(size / 4)}`;
    const instant = new Date(BASE + random.int(6)).toISOString();
    return random.chance(0.15)
      ? sent('AssetStatusChangeDeleted', { changeId, asset, deletedAt: instant })
      : sent('AssetStatusChanged', {
          changeId,
          asset,
          status: random.pick(['BLOCKED', 'ALLOWED', 'UNKNOWN']),
          brandReviews: random.pick([[], [{ organization: 'acme', brand: 'wallet' }]]),
          createdAt: instant,
          ...(random.chance(0.4) && { expiresAt: new Date(BASE + 6 + random.int(8)).toISOString() }),
        });
  });

/** A naive implementation of the specification. */
const naiveStatuses = (events: readonly Sent[]): Record<string, string> => {
  const keyOf = (event: Sent): string => {
    const { content } = event.data['asset'] as { content: string };
    return `URL:site-${/\d+/.exec(content)![0]}.example`;
  };
  const order = (event: Sent): string => `${String(event.data['createdAt'])} ${eventId(event)}`;
  const entries = new Map<string, Sent>();
  const deleted = new Set<string>();
  for (const event of events) {
    const id = String(event.data['changeId']);
    if (event.type === 'AssetStatusChangeDeleted') deleted.add(id);
    else if (!entries.has(id) || order(entries.get(id)!) < order(event)) entries.set(id, event);
  }
  const statuses: Record<string, string> = {};
  for (const event of events) statuses[keyOf(event)] = 'UNKNOWN';
  for (const key of Object.keys(statuses)) {
    const newest = [...entries]
      .filter(([id, event]) => !deleted.has(id) && keyOf(event) === key)
      .map(([, event]) => event)
      .sort((a, b) => (order(a) < order(b) ? -1 : 1))
      .at(-1);
    if (newest) statuses[key] = String(newest.data['status']);
  }
  return statuses;
};

describe('The projection of asset statuses', () => {
  const database = newDatabase();

  const project = async (log: InMemoryEventLog): Promise<void> =>
    expect(await projectToHead(log, database.pool, [assetStatuses])).toEqual([]);

  const statuses = async (): Promise<Record<string, string>> => {
    const { rows } = await database.pool.query<{ asset: string; status: string }>(
      'select asset, status from read.asset_statuses',
    );
    return Object.fromEntries(rows.map(({ asset, status }) => [asset, status]));
  };

  const entry = (changeId: string, content: string, status: string, createdAt: string): Sent =>
    sent('AssetStatusChanged', { changeId, asset: { type: 'URL', content }, status, brandReviews: [], createdAt });

  it.each(seeds(2, 6))(
    'ends with the newest undeleted entry of each asset, regardless of order, batches and repeated events (seed %d)',
    async (seed) => {
      const random = new Random(seed);
      const events = history(random, 300);
      const arrived = delivered(random, events);
      const log = new InMemoryEventLog(recordedInOrder(arrived), {
        batchSize: () => 1 + random.int(random.pick([2, 20, 200])),
      });
      await project(log);
      expect(await statuses()).toEqual(naiveStatuses(events));
      // Verifies every cell, including positions, with batches of another size.
      expect(await verify({ pool: database.pool, log }, [assetStatuses])).toEqual([]);
      await rebuild({ pool: database.pool, log }, [assetStatuses]);
      expect(await statuses()).toEqual(naiveStatuses(events));
    },
  );

  it('returns to an older entry when the newest one is deleted, and advances the position of the asset', async () => {
    const events = [
      entry('a', 'evil.example', 'BLOCKED', '2026-01-01T00:00:00Z'),
      entry('b', 'EVIL.example', 'ALLOWED', '2026-01-02T00:00:00Z'),
      sent('AssetStatusChangeDeleted', {
        changeId: 'b',
        asset: { type: 'URL', content: 'evil.example' },
        deletedAt: '2026-01-03T00:00:00Z',
      }),
    ];
    await project(new InMemoryEventLog(recordedInOrder(events)));
    const { rows } = await database.pool.query('select asset, status, created_at, position from read.asset_statuses');
    expect(rows).toEqual([
      { asset: 'URL:evil.example', status: 'BLOCKED', created_at: Date.parse('2026-01-01T00:00:00Z'), position: 2 },
    ]);
  });

  it('stores at most 16 entries that follow an expired one, and always the one that lasts longest', async () => {
    const until = (n: number): string => new Date(BASE + n * 1_000).toISOString();
    const events = [
      entry('permanent', 'evil.example', 'BLOCKED', '2020-01-01T00:00:00Z'),
      ...Array.from({ length: 40 }, (_, n) => {
        const one = entry(`c${n}`, 'evil.example', 'ALLOWED', new Date(BASE - n).toISOString());
        return { ...one, data: { ...one.data, expiresAt: until(n + 1) } };
      }),
    ];
    await project(new InMemoryEventLog(recordedInOrder(events)));
    const { rows } = await database.pool.query('select status, expires_at, followers from read.asset_statuses');
    expect(rows).toMatchObject([{ status: 'ALLOWED', expires_at: Date.parse(until(1)) }]);
    const { followers } = rows[0] as { followers: readonly { readonly status: string; expiresAt: number | null }[] };
    expect(followers.map(({ expiresAt }) => expiresAt)).toEqual([
      ...Array.from({ length: 15 }, (_, n) => Date.parse(until(n + 2))),
      null,
    ]);
    expect(followers.at(-1)!.status).toBe('BLOCKED');
  });

  it('removes an entry from its previous asset when a later state names another asset', async () => {
    const events = [
      entry('a', 'first.example', 'BLOCKED', '2026-01-01T00:00:00Z'),
      entry('a', 'second.example', 'BLOCKED', '2026-01-02T00:00:00Z'),
    ];
    await project(new InMemoryEventLog(recordedInOrder(events), { batchSize: () => 1 }));
    expect(await statuses()).toEqual({ 'URL:first.example': 'UNKNOWN', 'URL:second.example': 'BLOCKED' });
    const { rows } = await database.pool.query('select position from read.asset_statuses');
    expect(rows).toEqual([{ position: 1 }, { position: 1 }]);
  });

  it('moves the position of an asset to that of the retry of an older event', async () => {
    const events = [
      entry('a', 'evil.example', 'BLOCKED', '2026-01-02T00:00:00Z'),
      entry('b', 'evil.example', 'ALLOWED', '2026-01-01T00:00:00Z'),
    ];
    const log = new InMemoryEventLog(recordedInOrder(events));
    const refusing: typeof assetStatuses = {
      ...assetStatuses,
      prepare: async (all) => {
        if (all.some(({ id }) => id === eventId(events[0]!))) throw new Error('not now');
        return assetStatuses.prepare(all, []);
      },
    };
    await projectToHead(log, database.pool, [refusing]);
    const [parked] = await listParked(database.pool);
    expect(await retryAndProject({ pool: database.pool, log }, assetStatuses, parked!)).toBeUndefined();
    const { rows } = await database.pool.query('select status, position from read.asset_statuses');
    expect(rows).toEqual([{ status: 'BLOCKED', position: Number(await log.head()) }]);
    expect(await verify({ pool: database.pool, log }, [assetStatuses])).toEqual([]);
  });

  it('stores the key that the event carries, if the key is of this version', async () => {
    const [event] = recordedInOrder([entry('a', 'evil.example', 'BLOCKED', '2026-01-01T00:00:00Z')]);
    const key = 'URL:stored.example';
    const assetKey = { version: KEY_VERSION, hash: hashOfKey(key), key };
    await project(new InMemoryEventLog([{ ...event!, metadata: { ...(event!.metadata as object), assetKey } }]));
    expect(await statuses()).toEqual({ [key]: 'BLOCKED' });
  });

  it.each<[string, object | undefined]>([
    ['without a key', undefined],
    ['with a key of version 3', { version: 3, hash: hashOfKey(VERSION_3_KEY), key: VERSION_3_KEY }],
  ])('applies a status that version 3 stored %s to exactly the reported video', async (_, assetKey) => {
    const asset = { type: 'PAGE', content: 'https://www.youtube.com/watch?v=EVIL' };
    const data = { changeId: 'video', asset, status: 'BLOCKED', brandReviews: [], createdAt: '2026-01-01T00:00:00Z' };
    const [event] = recordedInOrder([sent('AssetStatusChanged', data, 'one')]);
    const stream = `assetStatus-${hashOfKey(VERSION_3_KEY)}`;
    const id = eventIdOf(SOURCE, 'one', 'AssetStatusChanged', stream);
    const metadata = { source: SOURCE, id: 'one', time: '2026-01-01T00:00:00.000Z', ...(assetKey && { assetKey }) };
    const log = new InMemoryEventLog([{ ...event!, id, stream, metadata }]);
    await project(log);
    await rebuild({ pool: database.pool, log }, [assetStatuses]);
    expect(await listParked(database.pool)).toEqual([]);
    expect(await statuses()).toEqual({ [keyOfAsset(asset)]: 'BLOCKED' });
    const entries = new StatusEntries(database.pool, log);
    const found = async (content: string): Promise<string[]> =>
      (await entries.newest([keyOfAsset({ type: 'PAGE', content })], 'acme', 10)).map(({ status }) => status);
    expect(await found('youtube.com/watch?v=EVIL&t=9')).toEqual(['BLOCKED']);
    expect(await found('https://www.youtube.com/watch?v=OTHER')).toEqual([]);
    expect(await found('https://www.youtube.com/watch')).toEqual([]);
  });

  it('stores an asset whose key exceeds the maximum size of an index entry', async () => {
    const content = 'ü'.repeat(4_096);
    const events = [entry('a', content, 'BLOCKED', '2026-01-01T00:00:00Z')];
    await project(new InMemoryEventLog(recordedInOrder(events)));
    expect(await statuses()).toEqual({ [`URL:${content}`]: 'BLOCKED' });
  });
});

import { describe, expect, it } from '@jest/globals';
import { listParked, type Parked, retryParked } from '../../../../projections/engine/parked.js';
import type { Projection } from '../../../../projections/engine/projection.js';
import { records } from '../../../../projections/records/projection.js';
import type { EventLog } from '../../../../src/event-log/event-log.js';
import { type FeedPage, NEXT_ELEMENTS, pageOf } from '../../../../src/records/feed/feed-elements.js';
import { hasSameParked } from '../../../../src/records/feed/parked-marks.js';
import { delivered, history, ORGANIZATIONS } from '../../../support/histories.js';
import { newDatabase, newLogs } from '../../../support/open-for-tests.js';
import { projectToHead } from '../../../support/projecting.js';
import { Random } from '../../../support/random.js';
import { eventId, recordedInOrder, type Sent, sent, sentThreat, stored } from '../../../support/upstream.js';
import { seeds } from '../../../support/full-size.js';

const AT = '2026-03-01T00:00:00.000Z';
const LATER = '2026-03-02T00:00:00.000Z';
const ASSET = { type: 'URL', content: 'evil.example' };

const database = newDatabase();
const logs = newLogs();

/** The projection of the records, which cannot apply these events. */
const refusing = (failingEvents: readonly Sent[]): Projection => {
  const ids = new Set(failingEvents.map(eventId));
  return {
    ...records,
    prepare: async (events, recorded) => {
      const write = await records.prepare(events as never, recorded);
      return async (transaction) => {
        if (events.some(({ id }) => ids.has(id))) throw new Error('cannot apply it');
        await write(transaction);
      };
    },
  };
};

const project = async (events: readonly Sent[], failingEvents: readonly Sent[]): Promise<EventLog> => {
  const log = await logs.create(recordedInOrder(events));
  await projectToHead(log, database.pool, [refusing(failingEvents)]);
  return log;
};

/** Reads as an organization that has passed all parked events. */
const endOf = async (organization: string): Promise<FeedPage> => {
  const values = { organization, after: Number.MAX_SAFE_INTEGER, limit: 1 };
  return pageOf(await NEXT_ELEMENTS['1-2-3-4']!.run(database.pool, values));
};
const markOf = async (organization: string): Promise<number> => (await endOf(organization)).parkedBefore;
const marksOf = async (organizations: readonly string[]): Promise<Record<string, number>> => {
  const marks: Record<string, number> = {};
  for (const organization of organizations) marks[organization] = await markOf(organization);
  return marks;
};
const changedOf = (before: Record<string, unknown>, after: Record<string, unknown>): string[] =>
  Object.keys(before).filter((organization) => before[organization] !== after[organization]);

const entry = (changeId: string, reviewers: readonly string[], createdAt = AT, extraData: object = {}): Sent =>
  sent('AssetStatusChanged', {
    changeId,
    asset: ASSET,
    status: 'BLOCKED',
    brandReviews: reviewers.map((organization) => ({ organization, brand: 'wallet' })),
    createdAt,
    ...extraData,
  });
const asset = { asset: ASSET, status: 'BLOCKED', createdAt: AT, updatedAt: AT };

describe('The mark of the parked events', () => {
  it.each<[string, { first?: readonly Sent[]; parked: Sent; last?: readonly Sent[] }, string[]]>([
    ['a threat', { parked: sentThreat('t', asset) }, ['acme']],
    ['a deleted threat', { parked: sent('ThreatDeleted', { organization: 'b', threatId: 't', deletedAt: AT }) }, ['b']],
    [
      'a report',
      { parked: sent('ReportFiled', { organization: 'b', reportId: 'r', createdAt: AT, updatedAt: AT }) },
      ['b'],
    ],
    ['an entry with reviews of two organizations', { parked: entry('c', ['acme', 'b']) }, ['acme', 'b']],
    ['an entry without reviews', { parked: entry('c', []) }, []],
    ['an entry that names an organization elsewhere', { parked: entry('c', ['b'], AT, { organization: 'd' }) }, ['b']],
    [
      'an entry that takes a verdict away',
      { first: [entry('c', ['acme', 'b'])], parked: entry('c', ['b'], LATER) },
      ['acme', 'b'],
    ],
    [
      'an entry that is deleted',
      {
        first: [entry('c', ['acme']), entry('other', ['b'])],
        parked: sent('AssetStatusChangeDeleted', { changeId: 'c', asset: ASSET, deletedAt: LATER }),
      },
      ['acme'],
    ],
    [
      'an entry whose older state names another organization and arrives afterwards',
      { parked: entry('c', ['b'], LATER), last: [entry('c', ['acme'])] },
      ['acme', 'b'],
    ],
  ])(
    'changes after a retry of %s, but only for the organizations concerned',
    async (_, { first, parked, last }, changedFor) => {
      const log = await project([...(first ?? []), parked, ...(last ?? [])], [parked]);
      const before = await marksOf(['acme', 'b', 'd']);
      expect(Object.keys(before).filter((organization) => before[organization] !== 0)).toEqual(changedFor);
      const [row] = await listParked(database.pool);
      expect(await retryParked({ pool: database.pool, log }, records, row!)).toBeUndefined();
      expect(await marksOf(['acme', 'b', 'd'])).toEqual({ acme: 0, b: 0, d: 0 });
    },
  );

  it.each<[string, Sent]>([
    ['a state', entry('c', ['b'], LATER)],
    ['a deletion', sent('AssetStatusChangeDeleted', { changeId: 'c', asset: ASSET, deletedAt: LATER })],
  ])(
    'of a place before the first verdict from the entry of %s stays valid before and after a retry',
    async (_, parked) => {
      const other = sentThreat('t', asset);
      const log = await logs.create(recordedInOrder([other, parked]));
      await projectToHead(log, database.pool, [refusing([other, parked])]);
      const mark = await markOf('acme');
      await log.appendAll([stored(entry('c', ['acme']))]);
      await projectToHead(log, database.pool, [refusing([other, parked])]);
      const page = await endOf('acme');
      expect(page.parkedBefore).not.toBe(mark);
      expect([mark, page.parkedBefore, 0].map((each) => hasSameParked(page, each))).toEqual([true, true, false]);

      for (const row of await listParked(database.pool))
        if (row.event_id === eventId(parked)) await retryParked({ pool: database.pool, log }, records, row);
      const retried = await endOf('acme');
      expect([mark, page.parkedBefore].map((each) => hasSameParked(retried, each))).toEqual([true, false]);
    },
  );

  it('is compared without any of the events that concern the organization since a verdict', () => {
    const checksums = Array.from({ length: 8 }, (_, n) => 1 << (4 * n));
    const page = { parkedBefore: 7 << 8, parkedByVerdict: checksums } as unknown as FeedPage;
    const some = checksums.filter((_, n) => n % 3 === 0).reduce((sum, each) => sum ^ each, 0);
    expect(hasSameParked(page, (7 << 8) ^ some)).toBe(true);
    expect(hasSameParked(page, (7 << 8) ^ some ^ 2)).toBe(false);
    expect(hasSameParked({ ...page, parkedByVerdict: [3, 5, 6] }, (7 << 8) ^ 6)).toBe(true);
    expect(hasSameParked({ ...page, parkedByVerdict: [3, 5, 6] }, (7 << 8) ^ 1)).toBe(false);
  });

  it('names at most eight entries that concern the organization since a verdict, those with the latest events', async () => {
    const ids = Array.from({ length: 10 }, (_, n) => `c-${n}`);
    const parked = ids.map((id) => entry(id, ['b'], LATER));
    await project([...ids.map((id) => entry(id, ['acme'])), ...parked], parked);
    const text = 'select uuid_hash(event_id) as hash from read.parked_events order by position desc limit 8';
    const { rows } = await database.pool.query<{ hash: number }>(text);
    const { parkedByVerdict } = await endOf('acme');
    expect(parkedByVerdict).toHaveLength(8);
    expect(new Set(parkedByVerdict)).toEqual(new Set(rows.map(({ hash }) => hash)));
  });

  it('counts an event about an entry for every organization if an earlier version has parked it', async () => {
    const parked = entry('c', ['b']);
    await project([parked], [parked]);
    await database.pool.query('update read.parked_events set change_id = null, organizations = null');
    const marks = await marksOf(['acme', 'b']);
    expect(marks['acme']).not.toBe(0);
    expect(marks['b']).toBe(marks['acme']);
  });

  it('changes after the removal of an event, but only for the organizations concerned', async () => {
    const parked = [sentThreat('t', asset), entry('c', ['b'])];
    await project(parked, parked);
    const before = await marksOf(['acme', 'b', 'd']);
    await database.pool.query(`delete from read.parked_events where organization = 'acme'`);
    expect(changedOf(before, await marksOf(['acme', 'b', 'd']))).toEqual(['acme']);
  });

  it.each(seeds(1, 3))('changes whenever a retry changes what an organization has read (seed %d)', async (seed) => {
    const random = new Random(seed);
    const events = delivered(random, history(random, 200));
    const failingEvents = events.filter(() => random.chance(0.2));
    const log = await project(events, failingEvents);
    const rowsOf = async (): Promise<Record<string, string>> => {
      const { rows } = await database.pool.query<{ organization: string; all: string }>(`
        select organization, string_agg(r::text, e'\\n' order by kind, id) as all from read.listed_records r group by 1`);
      return Object.fromEntries(rows.map((row) => [row.organization, row.all]));
    };
    const parked = await listParked(database.pool);
    let changes = 0;
    for (let notRetried: Parked[] = parked; notRetried.length > 0;) {
      const one = notRetried.splice(random.int(notRetried.length), 1)[0]!;
      const [rows, marks] = [await rowsOf(), await marksOf(ORGANIZATIONS)];
      const { rows: owners } = await database.pool.query<{ organization: string }>(
        `select organization from read.listed_records where kind = 4 and id = $1`,
        [(one.data as { changeId?: string }).changeId ?? ''],
      );
      const text = JSON.stringify(one.data);
      const isConcerned = (organization: string): boolean =>
        text.includes(`"organization":"${organization}"`) || owners.some((row) => row.organization === organization);
      await retryParked({ pool: database.pool, log }, records, one);
      const changed = changedOf(marks, await marksOf(ORGANIZATIONS));
      expect(changed).toEqual(ORGANIZATIONS.filter(isConcerned));
      const organizationsWithChanges = changedOf(rows, await rowsOf());
      expect(changed).toEqual(expect.arrayContaining(organizationsWithChanges));
      changes += organizationsWithChanges.length;
    }
    expect(changes).toBeGreaterThan(10);
  });
});

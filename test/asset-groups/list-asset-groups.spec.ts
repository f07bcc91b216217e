import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  GroupSlices,
  ListAssetGroups,
  ListAssetGroupsHandler,
  MAX_WHOLE,
} from '../../src/asset-groups/list-asset-groups.js';
import { Unavailable } from '../../src/errors.js';
import { assetGroupsStream } from '../../src/events/streams.js';
import { TimeSlices } from '../../src/flow/turns.js';
import { RequestConcurrency } from '../../src/read-models/request-concurrency.js';
import { sharedDatabase } from '../support/open-for-tests.js';
import { InMemoryEventLog } from '../support/in-memory-event-log.js';

interface Group {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

const database = sharedDatabase();
afterEach(() => {
  jest.restoreAllMocks();
});

const newOrganization = (): string => `org-${randomUUID().slice(0, 8)}`;

/** Projects groups 1 to `count` of an organization, as of the stream's revision 0. Every third group has assets. */
const project = async (organization: string, count: number, name: string): Promise<void> => {
  const values = [organization, count];
  await database.pool.query(`insert into read.asset_group_streams values ($1, 0, $2, 0)`, values);
  await database.pool.query(
    `insert into read.asset_groups select $1, n, n || $3, 0 from generate_series(1, $2::int) n`,
    [...values, name],
  );
  await database.pool.query(
    `insert into read.asset_group_counts select $1, n, n from generate_series(3, $2::int, 3) n`,
    values,
  );
};
const projected = (count: number, name: string): Group[] =>
  Array.from({ length: count }, (_, n) => ({
    id: n + 1,
    name: `${n + 1}${name}`,
    assetCount: (n + 1) % 3 ? 0 : n + 1,
  }));

/** Creates a log whose stream has these events after revision 0. */
const logOf = async (
  organization: string,
  ...events: readonly (readonly [type: string, groupId: number, name?: string])[]
): Promise<InMemoryEventLog> => {
  const log = new InMemoryEventLog();
  const at = '2026-03-01T00:00:00Z';
  const append = (type: string, data: object): Promise<unknown> =>
    log.append(assetGroupsStream(organization), 'any', [{ id: randomUUID(), type, data, metadata: {} }]);
  await append('AssetGroupRefused', { organization, name: 'any', createdAt: at });
  for (const [type, groupId, name] of events)
    await append(type, { organization, groupId, name, createdAt: at, updatedAt: at, deletedAt: at });
  return log;
};

const newList = (log: InMemoryEventLog) => {
  const timeSlices = new TimeSlices();
  const slices = new GroupSlices(database.pool, log, timeSlices);
  const handler = new ListAssetGroupsHandler(new RequestConcurrency(timeSlices), slices);
  return {
    slices,
    list: async (organization: string) => (await handler.execute(new ListAssetGroups(organization))).result,
  };
};

const groupsIn = async (list: string | Readable): Promise<Group[]> => {
  const parsed = JSON.parse(typeof list === 'string' ? list : await text(list)) as { groups: Group[] };
  return parsed.groups;
};

const LONG = '\u{1f600}'.repeat(250);
const LONG_COUNT = 3_000;

describe.each([
  ['of ordinary names, in one piece', 20, '. group', 'string'],
  ['of more bytes than a whole answer, in slices', LONG_COUNT, LONG, 'object'],
  ['of names that are longer as JSON, in slices', LONG_COUNT, '\u0001'.repeat(200), 'object'],
])('A list %s', (_, count, name, type) => {
  it('contains all groups in order of id, with their asset counts', async () => {
    const organization = newOrganization();
    await project(organization, count, name);
    const list = await newList(await logOf(organization)).list(organization);
    expect(typeof list).toBe(type);
    expect(await groupsIn(list)).toEqual(projected(count, name));
  });

  it('includes groups created, renamed and deleted after the last projected event', async () => {
    const organization = newOrganization();
    await project(organization, count, name);
    // Asset counts arrive before the group is in the read model.
    await database.pool.query(`insert into read.asset_group_counts values ($1, $2, 7)`, [organization, count + 2]);
    const log = await logOf(
      organization,
      ['AssetGroupRenamed', 3, 'Renamed'],
      ['AssetGroupDeleted', 1],
      ['AssetGroupCreated', count + 1, 'Created'],
      ['AssetGroupCreated', count + 2, 'Filled'],
      ['AssetGroupCreated', count + 3, 'Gone'],
      ['AssetGroupDeleted', count + 3],
      ['AssetGroupDeleted', count],
    );
    expect(await groupsIn(await newList(log).list(organization))).toEqual([
      ...projected(count, name)
        .slice(1, -1)
        .map((group) => (group.id === 3 ? { ...group, name: 'Renamed' } : group)),
      { id: count + 1, name: 'Created', assetCount: 0 },
      { id: count + 2, name: 'Filled', assetCount: 7 },
    ]);
  });
});

describe('A list without groups', () => {
  it('is empty if all groups were deleted since the last projected event, even if the read model has many groups', async () => {
    const organization = newOrganization();
    await project(organization, LONG_COUNT, LONG);
    const log = await logOf(
      organization,
      ...Array.from({ length: LONG_COUNT }, (_, n) => ['AssetGroupDeleted', n + 1] as const),
    );
    expect(await groupsIn(await newList(log).list(organization))).toEqual([]);
  });

  it('is empty before the first group is created', async () => {
    const organization = newOrganization();
    expect(await newList(new InMemoryEventLog()).list(organization)).toBe('{"groups":[]}');
  });
});

describe('A long list', () => {
  const open = async (): Promise<{ organization: string; slices: GroupSlices; list: () => Promise<Readable> }> => {
    const organization = newOrganization();
    await project(organization, LONG_COUNT, LONG);
    const { slices, list } = newList(await logOf(organization));
    return { organization, slices, list: () => list(organization) as Promise<Readable> };
  };

  it('is read in slices as the client reads the response', async () => {
    const { organization, slices, list } = await open();
    const readSlice = slices.read.bind(slices);
    const read = jest.spyOn(slices, 'read');
    const stream = await list();
    let [largest, chunks, ahead] = [0, 0, 0];
    for await (const piece of stream) {
      largest = Math.max(largest, (piece as Buffer).length);
      chunks += 1;
      // The client takes longer for a chunk than the server takes to read two slices.
      for (let n = 0; n < 2; n += 1) await readSlice({ organization, after: 0, maxBytes: 128 * 1_024, maxRows: 1_000 });
      ahead = Math.max(ahead, read.mock.calls.length - chunks);
    }
    // One read to find out that the list is long, one slice in the stream, and one slice being read.
    expect(ahead).toBeLessThanOrEqual(3);
    expect(largest).toBeLessThanOrEqual(128 * 1_024);
    expect(read.mock.calls.length).toBeGreaterThan((LONG_COUNT * 1_000) / (128 * 1_024));
    expect(MAX_WHOLE).toBeLessThan(LONG_COUNT * 1_000);
  });

  it('waits only for an earlier long list of the same organization', async () => {
    const [{ list }, other] = [await open(), await open()];
    const first = await list();
    let hasBegun = false;
    const second = list().then((stream) => {
      hasBegun = true;
      return stream;
    });
    expect(await groupsIn(await other.list())).toHaveLength(LONG_COUNT);
    expect(hasBegun).toBe(false);
    // The client closes the connection.
    first.destroy();
    expect(await groupsIn(await second)).toHaveLength(LONG_COUNT);
  });

  it('survives a short outage, and is aborted by a long outage so that a partial list never looks complete', async () => {
    const { slices, list } = await open();
    const stream = await list();
    jest.spyOn(slices, 'read').mockRejectedValueOnce(new Unavailable('The database did not answer'));
    expect(await groupsIn(stream)).toHaveLength(LONG_COUNT);
    jest.restoreAllMocks();
    const aborted = await list();
    const now = performance.now();
    const failing = jest.spyOn(slices, 'read').mockRejectedValue(new Unavailable('The database did not answer'));
    jest.spyOn(performance, 'now').mockImplementation(() => now + 60_000 * failing.mock.calls.length);
    await expect(text(aborted)).rejects.toThrow('The database did not answer');
  });
});

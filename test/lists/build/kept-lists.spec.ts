import { describe, expect, it, jest } from '@jest/globals';
import type { Pool } from 'pg';
import { Guards } from '../../../src/asset-check/lists/guards.js';
import { OwnStatuses } from '../../../src/asset-check/own/own-statuses.js';
import type { Source } from '../../../src/asset-check/sources/sources.js';
import { hashOf } from '../../../docs/examples/local-list.js';
import { assetKey } from '../../../src/assets/asset-key.js';
import { KeptLists } from '../../../src/lists/build/kept-lists.js';
import { ListBuilder } from '../../../src/lists/build/list-builder.js';
import { splitHashes } from '../../../src/lists/sorted-hashes.js';
import { guardOf, sourcesOf, suffixes } from '../../asset-check/checker-of.js';
import { seeds } from '../../support/full-size.js';
import { InMemoryEventLog } from '../../support/in-memory-event-log.js';
import { listOf } from '../random-hashes.js';
import { Maker, randomFrom } from '../worlds.js';

const STATE = {
  table: '1',
  parkedBefore: '',
  parked: '',
  checkpoint: 1,
  stream: null,
  revision: null,
  eventId: null,
  followers: null,
};

/** The present, in ms. */
let clock = 1;

/** Own statuses that change by `set`, and of which some expire soon. A text is one of `OwnStatus`, or the same with UNKNOWN. */
const changingStatuses = (random: () => number) => {
  let rows: unknown[] = [];
  let position = 0;
  const noRow = { ...STATE, asset: null, assetHash: null, position: null };
  const pool = { query: () => Promise.resolve({ rows: rows.length === 0 ? [noRow] : rows }) } as unknown as Pool;
  const statuses = new OwnStatuses(pool, new InMemoryEventLog(), suffixes, 1e9, (sentence) => {
    throw new Error(sentence);
  });
  const set = async (texts: readonly string[]): Promise<void> => {
    rows = texts.map((text) => {
      const [status, type = '', ...words] = text.split(' ');
      const content = words.join(' ');
      position += 1;
      const asset = assetKey({ type, content });
      const expiresAt = random() < 0.3 ? clock + 1 + Math.floor(2 * random()) : null;
      return { ...STATE, asset, assetHash: String(position), content, status, createdAt: 0, position, expiresAt };
    });
    await statuses.refresh();
  };
  const source: Source = { id: 'own', mode: 'ENABLED', redistribute: true, of: { kind: 'own', statuses } };
  return { set, source };
};

const ROUNDS = 6;

describe('KeptLists', () => {
  it('builds after changes of own statuses what it builds from nothing', async () => {
    const builds = jest.spyOn(KeptLists.prototype, 'build');
    const now = jest.spyOn(Date, 'now').mockImplementation(() => clock);
    let wholeBuilds = 0;
    let rounds = 0;
    for (const seed of seeds(12, 1_000)) {
      const random = randomFrom(seed);
      const maker = new Maker(random);
      const world = maker.world();
      const guards = await Promise.all(world.guarded.map((host, n) => guardOf(host, 'plain', `g${n}`).catch(() => [])));
      const [, ...lists] = await sourcesOf([], world.lists, guards.flat());
      const own = changingStatuses(random);
      await own.set(world.statuses);
      const sources = [own.source, ...lists];
      const builder = new ListBuilder(sources, suffixes, new Guards(guards.flat()));
      await builder.build(clock);
      let known: string[] = [...world.statuses];
      for (let round = 0; round < ROUNDS; round += 1) {
        const changes: string[] = Array.from({ length: Math.floor(random() * 3) }, () => maker.status());
        const removed = known.filter(() => random() < 0.2).map((text) => text.replace(/^\w+/, 'UNKNOWN'));
        known = [...known, ...changes];
        clock += 1;
        await own.set([...removed, ...changes]);
        builds.mockClear();
        const { lists: after, namesOf } = (await builder.build(clock))!;
        wholeBuilds += builds.mock.calls.length === 0 ? 0 : 1;
        rounds += 1;
        const whole = (await new ListBuilder(sources, suffixes, new Guards(guards.flat())).build(clock))!;
        for (const [name, hashes] of whole.lists)
          expect({ seed, round, name, isSame: Buffer.compare(after.get(name)!, hashes) === 0 }).toEqual({
            seed,
            round,
            name,
            isSame: true,
          });
        const ofLists = [...splitHashes(after.get('all-8b')!), ...splitHashes(after.get('own-8b')!)];
        const found = [await namesOf('list', ofLists), await namesOf('ask', splitHashes(after.get('ask-8b')!))];
        expect({ seed, round, changed: found.flatMap(({ changed }) => changed) }).toEqual({ seed, round, changed: [] });
      }
    }
    builds.mockRestore();
    now.mockRestore();
    expect(wholeBuilds).toBeLessThan(rounds / 2);
  });

  it('finds a name with the next build if its status changed twice between two builds', async () => {
    const own = changingStatuses(() => 1);
    const builder = new ListBuilder([own.source], suffixes);
    const [blocked, free] = ['BLOCKED URL evil.example', 'UNKNOWN URL evil.example'];
    const hashes = splitHashes(listOf([hashOf('evil.example/')]));
    await own.set([blocked]);
    const first = (await builder.build(clock))!;
    expect(await first.namesOf('list', hashes)).toMatchObject({
      names: [{ expression: 'evil.example/' }],
      changed: [],
    });
    await own.set([free]);
    expect(await first.namesOf('list', hashes)).toEqual({ names: [], changed: hashes });
    await own.set([blocked]);
    const second = (await builder.build(clock))!;
    expect(second.lists.get('all-8b')).toEqual(first.lists.get('all-8b'));
    expect(await second.namesOf('list', hashes)).toMatchObject({ names: [{ expression: 'evil.example/' }] });
  });
});

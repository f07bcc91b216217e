import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { text } from 'node:stream/consumers';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { assetGroups } from '../../projections/asset-groups.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { ChangeMembership } from '../../src/asset-groups/change-membership.js';
import { CreateAssetGroup, DeleteAssetGroup } from '../../src/asset-groups/group-commands.js';
import { ListAssetGroups } from '../../src/asset-groups/list-asset-groups.js';
import type { GroupAssetPageDto } from '../../src/asset-groups/asset-groups.dto.js';
import { ListGroupAssets } from '../../src/asset-groups/list-group-assets.js';
import { Conflict } from '../../src/errors.js';
import { startApp, type TestApp } from '../support/app.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';
import { type Projecting, projectToHead, startProjecting } from '../support/projecting.js';

/** Ordinary runs use the smaller numbers; `GROUPS_DOSE=full` selects the larger ones. */
const FULL = process.env['GROUPS_DOSE'] === 'full';
const CREATES_AT_ONCE = FULL ? 10_000 : 1_000;
const LISTS = FULL ? 1_000 : 40;
const MEMBERSHIPS = FULL ? 500 : 10;

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

describe('Two instances on one database', () => {
  let database: TestDatabase;
  let instances: TestApp[];
  beforeAll(async () => {
    database = await createDatabase();
    instances = [await startApp({ databaseUrl: database.url }), await startApp({ databaseUrl: database.url })];
  });
  afterAll(async () => {
    for (const instance of instances) await instance.close();
    await database.drop();
  });

  const instance = (n: number): TestApp => instances[n % 2]!;
  const create = async (n: number, organization: string, name: string) => {
    const command = new CreateAssetGroup({ organization, name });
    return (await instance(n).app.get(CommandBus).execute(command)).result;
  };
  const list = async (n: number, organization: string): Promise<readonly Listed[]> => {
    const { result: list } = await instance(n).app.get(QueryBus).execute(new ListAssetGroups(organization));
    return (JSON.parse(typeof list === 'string' ? list : await text(list)) as { groups: Listed[] }).groups;
  };
  const change = async (
    n: number,
    action: 'add' | 'remove',
    organization: string,
    group: number,
    contents: readonly string[],
  ): Promise<readonly string[]> => {
    const command = new ChangeMembership({ action, organization, groupId: group, contents });
    return (await instance(n).app.get(CommandBus).execute(command)).result.map(({ result }) => result);
  };
  const members = async (n: number, organization: string, group: number): Promise<readonly string[]> => {
    const { result } = await instance(n)
      .app.get(QueryBus)
      .execute(new ListGroupAssets({ organization, groupId: group, limit: 1_000 }));
    const { assets } = JSON.parse(result) as GroupAssetPageDto;
    return assets.map(({ content }) => content).sort();
  };
  const follow = (): Projecting => startProjecting(instances[0]!.log, instances[0]!.pool, [assetGroups]);
  const project = (): Promise<unknown> => projectToHead(instances[0]!.log, instances[0]!.pool, [assetGroups]);

  it('accept one of 100 concurrent creates with the same name, and return 409 for the others', async () => {
    const key = await instances[0]!.issueKey({ organization: 'one-name' });
    await instances[1]!.app.get(KeyRing).refresh();
    const responses = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const response = await fetch(`${instance(n).url}/v2/organization/asset-groups`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: '{"name":"Sites"}',
        });
        return { status: response.status, body: await response.text() };
      }),
    );
    expect(responses.filter(({ status }) => status !== 201 && status !== 409)).toEqual([]);
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1);
    for (const n of [0, 1]) expect(await list(n, 'one-name')).toEqual([{ id: 1, name: 'Sites', assetCount: 0 }]);
  });

  it(`assign consecutive ids to ${CREATES_AT_ONCE} concurrent creates`, async () => {
    const createdGroups = await Promise.all(
      Array.from({ length: CREATES_AT_ONCE }, (_, n) => create(n, 'many', `Group ${n}`)),
    );
    expect(createdGroups.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: CREATES_AT_ONCE }, (_, n) => n + 1),
    );
    const expected = createdGroups.map(({ id, name }) => ({ id, name, assetCount: 0 })).sort((a, b) => a.id - b.id);
    for (const n of [0, 1]) expect(await list(n, 'many')).toEqual(expected);
    await project();
    for (const n of [0, 1]) expect(await list(n, 'many')).toEqual(expected);
  });

  it.each(['stopped', 'working'])(
    `include each of ${LISTS} new groups in the next list of the other instance, with the projector %s`,
    async (projector) => {
      const projecting = projector === 'working' ? follow() : undefined;
      for (let n = 1; n <= LISTS; n += 1) {
        const { id } = await create(n, projector, `Group ${n}`);
        expect(id).toBe(n);
        expect((await list(n + 1, projector)).map((group) => group.id)).toEqual(
          Array.from({ length: n }, (_, i) => i + 1),
        );
      }
      await projecting?.stop();
    },
  );

  it(`include each of ${MEMBERSHIPS} membership changes in the next list and count of the other instance`, async () => {
    const projecting = follow();
    await create(0, 'filled', 'A');
    for (let n = 1; n <= MEMBERSHIPS; n += 1) {
      expect(await change(n, 'add', 'filled', 1, [`${n}.example`, 'always.example'])).toEqual([
        'added',
        n === 1 ? 'added' : 'unchanged',
      ]);
      expect(await list(n + 1, 'filled')).toEqual([{ id: 1, name: 'A', assetCount: n + 1 }]);
      expect(await members(n + 1, 'filled', 1)).toHaveLength(n + 1);
    }
    expect(await change(0, 'remove', 'filled', 1, ['always.example'])).toEqual(['removed']);
    expect(await members(1, 'filled', 1)).toHaveLength(MEMBERSHIPS);
    await projecting.stop();
  });

  it('keep each asset in one group after concurrent moves of the same assets', async () => {
    const projecting = follow();
    for (const name of ['A', 'B', 'C']) await create(0, 'moved', name);
    const assets = Array.from({ length: 60 }, (_, n) => `${n}.example`);
    await Promise.all(
      Array.from({ length: 24 }, (_, n) => change(n, n % 8 === 7 ? 'remove' : 'add', 'moved', 1 + (n % 3), assets)),
    );
    const [a, b] = [await list(0, 'moved'), await list(1, 'moved')];
    expect(a).toEqual(b);
    const all = await Promise.all(a.map(({ id }) => members(id, 'moved', id)));
    expect(a.map(({ assetCount }) => assetCount)).toEqual(all.map(({ length }) => length));
    expect(new Set(all.flat()).size).toBe(all.flat().length);
    const last = await change(0, 'add', 'moved', 1, assets);
    expect(last).not.toContain('error');
    expect(await members(1, 'moved', 1)).toEqual(assets.toSorted());
    await projecting.stop();
  });

  it('return the same groups after concurrent creates, renames and deletions', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, async (_, n) => {
        const { id } = await create(n, 'mixed', `Group ${n % 40}`);
        if (n % 3 === 0)
          await instance(n + 1)
            .app.get(CommandBus)
            .execute(new DeleteAssetGroup({ organization: 'mixed', groupId: id }));
      }),
    );
    for (const outcome of outcomes) if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(Conflict);
    const [a, b] = [await list(0, 'mixed'), await list(1, 'mixed')];
    expect(a).toEqual(b);
    expect(new Set(a.map(({ name }) => name)).size).toBe(a.length);
    await project();
    expect(await list(0, 'mixed')).toEqual(a);
  });
});

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CommandBus, QueryBus } from '@nestjs/cqrs';
import { setTimeout as sleep } from 'node:timers/promises';
import { assetGroups } from '../../projections/asset-groups/projection.js';
import { readCheckpoints } from '../../projections/engine/checkpoints.js';
import { Projector } from '../../projections/engine/projector.js';
import { KeyRing } from '../../src/api-keys/key-ring.js';
import { CreateAssetGroup } from '../../src/asset-groups/create-asset-group.js';
import { DeleteAssetGroup } from '../../src/asset-groups/delete-asset-group.js';
import { ListAssetGroups } from '../../src/asset-groups/list-asset-groups.js';
import { Conflict } from '../../src/errors.js';
import { startApp, type TestApp } from '../support/app.js';
import { eventStores } from '../support/event-store.js';
import { createDatabase, type TestDatabase } from '../support/postgres.js';

/** The dose of the suite, or `GROUPS_DOSE=full` for what was promised. */
const FULL = process.env['GROUPS_DOSE'] === 'full';
const CREATES_AT_ONCE = FULL ? 10_000 : 1_000;
const LISTS = FULL ? 1_000 : 40;

interface Listed {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

const LOGS = [{ name: 'PostgreSQL', open: async () => ({ url: undefined, release: async () => {} }) }, ...eventStores];

describe.each(LOGS)('two instances on the log in $name', ({ open }) => {
  let database: TestDatabase;
  let instances: TestApp[];
  let release: () => Promise<void>;
  beforeAll(async () => {
    const store = await open();
    release = store.release;
    database = await createDatabase();
    const options = { databaseUrl: database.url, env: { EVENTSTORE_URL: store.url } };
    instances = [await startApp(options), await startApp(options)];
  });
  afterAll(async () => {
    for (const instance of instances) await instance.close();
    await database.drop();
    await release();
  });

  const instance = (n: number): TestApp => instances[n % 2]!;
  const create = (n: number, organization: string, name: string) =>
    instance(n)
      .app.get(CommandBus)
      .execute(new CreateAssetGroup(organization, name, undefined));
  const list = async (n: number, organization: string): Promise<readonly Listed[]> => {
    const json = await instance(n).app.get(QueryBus).execute(new ListAssetGroups(organization));
    return (JSON.parse(json.toString()) as { groups: Listed[] }).groups;
  };
  const follow = async (until: () => Promise<boolean>): Promise<void> => {
    const { log, pool } = instances[0]!;
    const stop = new AbortController();
    const running = new Projector(log, pool, [assetGroups], () => {}).run(stop.signal);
    while (!(await until())) await sleep(5);
    stop.abort();
    await running;
  };
  const project = async (): Promise<void> => {
    const { log, pool } = instances[0]!;
    const head = await log.head();
    await follow(async () => (await readCheckpoints(pool, log, [assetGroups.name]))[0]!.position >= head);
  };

  it('give one of 100 requests for one name the name, and the rest a 409', async () => {
    const key = await instances[0]!.issueKey({ organization: 'one-name' });
    await instances[1]!.app.get(KeyRing).refresh();
    const statuses = await Promise.all(
      Array.from({ length: 100 }, async (_, n) => {
        const response = await fetch(`${instance(n).url}/v2/organization/asset-groups`, {
          method: 'POST',
          headers: { 'x-api-key': key, 'content-type': 'application/json' },
          body: '{"name":"Sites"}',
        });
        await response.text();
        return response.status;
      }),
    );
    expect(statuses.filter((status) => status === 201)).toHaveLength(1);
    expect(statuses.filter((status) => status === 409)).toHaveLength(99);
    for (const n of [0, 1]) expect(await list(n, 'one-name')).toEqual([{ id: 1, name: 'Sites', assetCount: 0 }]);
  });

  it(`number ${CREATES_AT_ONCE} creates at once without a gap, none twice`, async () => {
    const named = await Promise.all(Array.from({ length: CREATES_AT_ONCE }, (_, n) => create(n, 'many', `Group ${n}`)));
    expect(named.map(({ id }) => id).sort((a, b) => a - b)).toEqual(
      Array.from({ length: CREATES_AT_ONCE }, (_, n) => n + 1),
    );
    const expected = named.map(({ id, name }) => ({ id, name, assetCount: 0 })).sort((a, b) => a.id - b.id);
    for (const n of [0, 1]) expect(await list(n, 'many')).toEqual(expected);
    await project();
    for (const n of [0, 1]) expect(await list(n, 'many')).toEqual(expected);
  });

  it(`have each of ${LISTS} groups in the other's next list, with the projector stopped`, async () => {
    for (let n = 1; n <= LISTS; n += 1) {
      const { id } = await create(n, 'stopped', `Group ${n}`);
      expect(id).toBe(n);
      expect((await list(n + 1, 'stopped')).map((group) => group.id)).toEqual(
        Array.from({ length: n }, (_, i) => i + 1),
      );
    }
  });

  it(`have each of ${LISTS} groups in the other's next list, while the projector works`, async () => {
    let isDone = false;
    const following = follow(async () => isDone);
    for (let n = 1; n <= LISTS; n += 1) {
      await create(n, 'working', `Group ${n}`);
      expect((await list(n + 1, 'working')).map((group) => group.id)).toEqual(
        Array.from({ length: n }, (_, i) => i + 1),
      );
    }
    isDone = true;
    await following;
  });

  it('agree on everything after creates, renames and deletions at once', async () => {
    const outcomes = await Promise.allSettled(
      Array.from({ length: 300 }, async (_, n) => {
        const { id } = await create(n, 'mixed', `Group ${n % 40}`);
        if (n % 3 === 0)
          await instance(n + 1)
            .app.get(CommandBus)
            .execute(new DeleteAssetGroup('mixed', id));
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

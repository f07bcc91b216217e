import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { Registry } from 'prom-client';
import { assetGroups } from '../projections/asset-groups.js';
import { Projector } from '../projections/engine/projector.js';
import { issueApiKey } from '../src/api-keys/api-keys.js';
import { GroupCommands } from '../src/asset-groups/group-commands.js';
import type { EventLog } from '../src/event-log/event-log.js';
import { toJson } from '../src/events/event.js';
import { assetGroupsStream } from '../src/events/streams.js';
import { DailyQuota } from '../src/quotas/daily-quota.js';
import { readConfig } from '../src/runtime/config.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { type Bench, type Goal, measure, rates } from './goal.js';
import { requestJson, startLoad, loadSlice, rawRequest } from './load.js';
import { inParallel } from './paired.js';
import { openLog, startApi, startPeer } from './services.js';

const LARGE = 'large';
const LISTED = 'listed';
const PATH = '/v2/organization/asset-groups';
const GET = { method: 'GET', path: PATH } as const;
/** The request to the peer, which gets the organization as a parameter because it checks no key. */
const PEER_GET = { method: 'GET', path: `${PATH}?organization=${LISTED}` } as const;
const PAGE = 1_000;
const CONNECTIONS = 16;

/** Returns a quota without limits. */
const unlimited = (pool: Pool): DailyQuota =>
  new DailyQuota(pool, readConfig({ INGEST_EVENTS_PER_DAY: '0', INGEST_BYTES_PER_DAY: '0' }), new Registry());

/** Fills an organization with groups, as if they had been created one by one. */
const fill = async (log: EventLog, organization: string, groups: number): Promise<void> => {
  for (let from = 0; from < groups; from += PAGE) {
    const events = Array.from({ length: Math.min(PAGE, groups - from) }, (_, n) => ({
      id: randomUUID(),
      type: 'AssetGroupCreated',
      data: toJson({
        type: 'AssetGroupCreated',
        data: { organization, groupId: from + n + 1, name: `Landing pages ${from + n + 1}`, createdAt: Date.now() },
      }),
      metadata: {},
    }));
    await log.append(assetGroupsStream(organization), from === 0 ? 'no-stream' : BigInt(from - 1), events);
  }
};

/** Starts the projector, which runs until the end of the bench, and waits until it has caught up. */
const follow = async (bench: Bench, { pool }: Database, log: EventLog): Promise<void> => {
  const stop = new AbortController();
  const running = new Projector(log, pool, [assetGroups], { onError: (sentence) => bench.say(sentence) }).run(
    stop.signal,
  );
  bench.onEnd(() => {
    stop.abort();
    return running;
  });
  const head = await log.head();
  for (;;) {
    const { rows } = await pool.query('select position from read.checkpoints where projection = $1', [
      assetGroups.name,
    ]);
    if (rows[0] !== undefined && BigInt(rows[0].position) >= head) break;
    await sleep(20);
  }
  await pool.query('vacuum analyze read.asset_groups');
};

/**
 * Compares creating a group in an organization with many groups with creating one in an empty organization, and the
 * list of groups over HTTP with a peer that selects the same rows.
 */
export const groups: Goal = {
  name: 'groups',
  run: async (bench) => {
    const [largeCount, smallCount] = bench.sizes.quick ? [2_000, 1_000] : [100_000, 10_000];
    const database = await bench.database();
    const log = await openLog(bench, database);
    bench.say(`Fills two organizations with ${largeCount} and ${smallCount} groups`);
    await fill(log, LARGE, largeCount);
    await fill(log, LISTED, smallCount);
    await follow(bench, database, log);

    const queue = new GroupCommands(log, database.pool, unlimited(database.pool));
    let created = 0;
    const create = (organization: string): Promise<unknown> =>
      queue.execute({ type: 'CreateAssetGroup', organization, name: `Created ${(created += 1)}`, request: undefined });
    const cost = await measure(bench, 'groups: create', {
      base: inParallel(1, () => create(`empty-${created}`)),
      target: inParallel(1, () => create(LARGE)),
    });

    const { key } = await issueApiKey(log, { scopes: ['read'], organization: LISTED });
    const { url } = await startApi(bench, database);
    const peerUrl = await startPeer(bench, database);
    requireEqual('the list', await requestJson(peerUrl, key, PEER_GET), await requestJson(url, key, GET));
    const load = await startLoad(bench);
    const listed = await measure(bench, 'groups: list', {
      base: loadSlice(load, peerUrl, [rawRequest(peerUrl, key, PEER_GET)], CONNECTIONS),
      target: loadSlice(load, url, [rawRequest(url, key, GET)], CONNECTIONS),
    });

    return [
      {
        what: `create in an organization with ${largeCount.toLocaleString('en-US')} groups, one after the other`,
        against: 'create in an empty organization',
        measured: cost.ratio,
        must: 0.667,
        note: rates(cost, 'per second'),
      },
      {
        what: `list of ${smallCount.toLocaleString('en-US')} groups over HTTP, ${CONNECTIONS} connections`,
        against: 'node:http selecting the same rows',
        measured: listed.ratio,
        must: 0.4,
        note: rates(listed, 'requests per second'),
      },
    ];
  },
};

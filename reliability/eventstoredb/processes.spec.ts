import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  askMetrics,
  checkLog,
  checkMetrics,
  checkVerify,
  waitUntilCounted,
  randomQuery,
  sentOf,
  wholeLog,
} from '../rig/check.js';
import { waitUntilKeysKnown } from '../rig/keys.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { startService, type RunningService } from '../rig/running-service.js';
import { Process } from '../rig/processes.js';
import { RunContext } from '../rig/run-context.js';
import { Service } from '../rig/service.js';
import { eventStores, FAULT_ROUNDS, type TestEventStore } from '../../test/support/event-store.js';
import { eventually, eventuallyPasses } from '../../test/support/eventually.js';
import { EventStoreDouble } from '../../test/support/eventstore-double/server.js';
import type { TestDatabase } from '../../test/support/postgres.js';
import { Random } from '../../test/support/random.js';

const BATCH = 50;
/** After each kill the test waits until the other projector has taken over. The reliability goals require ten kills. */
const KILLS = Number(process.env['TEST_EVENTSTORE_KILLS'] ?? 1);

describe('The built service with its log in EventStoreDB', () => {
  let context: RunContext;
  let database: TestDatabase;
  let running: RunningService;

  /** Starts the service with its log in this store. @returns a sender for it */
  const start = async (store: Pick<TestEventStore, 'url' | 'release'>, projectors = 1): Promise<Sender> => {
    context.onEnd(() => store.release());
    database = await context.database({ migrated: false });
    running = await startService(context, { DATABASE_URL: database.url, EVENTSTORE_URL: store.url }, { projectors });
    return new Sender(() => running.service.url, running.keys.ingest, new History(context));
  };
  /** Waits until the projectors have moved a checkpoint. */
  const waitForProgress = async (projectors: readonly Process[]): Promise<void> => {
    const countedPosition = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ position: number | null }>(
        `select max(position) as position from read.checkpoints`,
      );
      return rows[0]?.position ?? -1;
    };
    const before = await countedPosition();
    await eventually('a checkpoint moves', async () => {
      if ((await countedPosition()) > before) return true;
      const dead = projectors.find(({ isRunning }) => !isRunning);
      if (dead !== undefined) throw new Error(`A projector ended: ${dead.lines.slice(-5).join(' ')}`);
      return false;
    });
  };
  const recount = async ({ acknowledged, wrong }: History, mayDouble = false): Promise<string[]> => {
    const { service, log, keys, env } = running;
    await waitUntilCounted(service.url);
    const stored = await wholeLog(log);
    const findings = checkLog(stored, acknowledged).filter((finding) => !(mayDouble && /more than once/.test(finding)));
    return [
      ...findings,
      ...wrong,
      ...(await checkMetrics(service.url, keys, sentOf(stored), 7)),
      ...(await checkVerify(context, env)),
    ];
  };

  beforeEach(() => {
    context = new RunContext(1);
  });
  afterEach(() => context.end());

  for (const { name, open: openStore } of eventStores) {
    // A real EventStoreDB under load may forget an event id before the retry and store the event twice. Even then, the
    // event is counted once.
    const mayDouble = name === 'EventStoreDB';
    it(`${name}: two APIs return equal metrics after ${KILLS} kills of one of two projectors`, async () => {
      const { history } = await start(await openStore(), 0);
      const { service: first, env, keys, log } = running;
      const second = await Service.start(context, { env, projectors: 0 });
      await waitUntilKeysKnown(second.url, keys);
      const startProjector = (): Process => Process.start(context, 'projections/main', env);
      const projectors = [startProjector(), startProjector()];
      let next = 0;
      const sender = new Sender(() => [first, second][next++ % 2]!.url, keys.ingest, history);
      const stop = sender.keepDelivering(inBatches(fullLoad(context.random), BATCH));
      for (let kill = 0; kill < KILLS; kill++) {
        await waitForProgress(projectors);
        await sleep(context.random.next() * 100);
        const victim = kill % 2;
        await projectors[victim]!.kill();
        projectors[victim] = startProjector();
      }
      await waitForProgress(projectors);
      await stop();
      expect(history.acknowledged.length).toBeGreaterThan(200);
      expect(await recount(history, mayDouble)).toEqual([]);
      // `recount` checked the first API. Both use the same log and read models.
      await waitUntilCounted(second.url);
      expect(await checkMetrics(second.url, keys, sentOf(await wholeLog(log)), 11)).toEqual([]);
    }, 400_000);

    it(`${name}: dropped read models are rebuilt from the log, and all metrics are the same as before`, async () => {
      const sender = await start(await openStore());
      const { env, keys } = running;
      await sender.deliver(inBatches(fullLoad(context.random, 1_000), BATCH));
      await waitUntilCounted(running.service.url);
      const random = new Random(3);
      const queries = Array.from({ length: 30 }, () => randomQuery(random));
      const answers = async (): Promise<unknown[]> => {
        const all = [];
        for (const query of queries) all.push(await askMetrics(running.service.url, keys, query));
        return all;
      };
      const before = await answers();
      await running.service.stop();
      await database.pool.query('drop schema read cascade');
      const service = await Service.start(context, { env });
      running = { ...running, service };
      await waitUntilKeysKnown(service.url, keys);
      await waitUntilCounted(service.url);
      expect(await answers()).toEqual(before);
      expect(await recount(sender.history, mayDouble)).toEqual([]);
    }, 120_000);
  }

  it('loses no event and counts each event once although the event store is killed and frozen', async () => {
    const double = await EventStoreDouble.start();
    const sender = await start({ url: double.url, release: () => double.stop() });
    const stop = sender.keepDelivering(inBatches(fullLoad(context.random), BATCH));
    const rejections = () => sender.history.attempts.filter(({ status }) => status === 503).length;
    for (let fault = 0; fault < FAULT_ROUNDS + 2; fault++) {
      await sleep(200 + context.random.next() * 200);
      const before = rejections();
      if (fault % 3 === 2) double.freeze();
      else await double.kill();
      await eventuallyPasses(() => expect(rejections()).toBeGreaterThan(before));
      if (fault % 3 === 2) double.unfreeze();
      else await double.restart();
      const acknowledged = sender.history.acknowledged.length;
      await eventually('more events are acknowledged', () => sender.history.acknowledged.length !== acknowledged);
    }
    await stop();
    const slowest = Math.max(...sender.history.attempts.map(({ ms }) => ms));
    // The service ends the requests itself, before the timeout of the sender.
    expect(slowest).toBeLessThan(10_000);
    expect(sender.history.attempts.filter(({ status, retryAfter }) => status === 503 && !retryAfter)).toEqual([]);
    expect(await recount(sender.history, true)).toEqual([]);
  }, 180_000);
});

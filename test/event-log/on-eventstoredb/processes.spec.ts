import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../../src/runtime/config.js';
import type { EventLog } from '../../../src/event-log/event-log.js';
import { openEventLog } from '../../../src/event-log/open-event-log.js';
import {
  askMetrics,
  checkLog,
  checkMetrics,
  checkVerify,
  counted,
  type Keys,
  randomQuery,
  sentOf,
  wholeLog,
} from '../../faults/rig/check.js';
import { issueKeys, keysKnown } from '../../faults/rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../../faults/rig/load.js';
import { type Environment, Process } from '../../faults/rig/processes.js';
import { Scene } from '../../faults/rig/scene.js';
import { Service } from '../../faults/rig/service.js';
import { eventStores, FAULT_ROUNDS, type TestEventStore } from '../../support/event-store.js';
import { eventually, eventuallyPasses } from '../../support/eventually.js';
import { EventStoreDouble } from '../../support/eventstore-double/server.js';
import { createDatabase, type TestDatabase } from '../../support/postgres.js';
import { Random } from '../../support/random.js';

const BATCH = 50;
/** Each waits for the other projector to take over; the goals ask for ten. */
const KILLS = Number(process.env['TEST_EVENTSTORE_KILLS'] ?? 2);

function* everything(random: Random) {
  yield* brandsAndFlags();
  yield* upstream(random);
}

describe('The built service with its log in EventStoreDB', () => {
  let scene: Scene;
  let database: TestDatabase;
  let env: Environment;
  let log: EventLog;
  let keys: Keys;
  let sender: Sender;
  let queue: Iterator<readonly ReturnType<typeof brandsAndFlags>[number][]>;

  const settle = async (store: TestEventStore): Promise<void> => {
    database = await createDatabase({ migrated: false });
    env = { DATABASE_URL: database.url, EVENTSTORE_URL: store.url };
  };
  const begin = async (urls: readonly (() => string)[]): Promise<void> => {
    log = await openEventLog(readConfig(env));
    keys = await issueKeys(log);
    for (const url of urls) await keysKnown(url(), keys);
    let next = 0;
    sender = new Sender(() => urls[next++ % urls.length]!(), keys.ingest, new History(scene));
    queue = inBatches(everything(scene.random), BATCH);
  };
  /** Waits until more has been counted. */
  const progress = async (projectors: readonly Process[]): Promise<void> => {
    const counted = async (): Promise<number> => {
      const { rows } = await database.pool.query<{ position: number | null }>(
        `select max(position) as position from read.checkpoints`,
      );
      return rows[0]?.position ?? -1;
    };
    const before = await counted();
    await eventually('more is counted', async () => {
      if ((await counted()) > before) return true;
      const dead = projectors.find(({ isRunning }) => !isRunning);
      if (dead !== undefined) throw new Error(`A projector ended: ${dead.lines.slice(-5).join(' ')}`);
      return false;
    });
  };
  const recount = async (url: string, mayDouble = false): Promise<string[]> => {
    await counted(url);
    const stored = await wholeLog(log);
    const findings = checkLog(stored, sender.history.acknowledged).filter(
      (finding) => !(mayDouble && /more than once/.test(finding)),
    );
    return [
      ...findings,
      ...sender.history.wrong,
      ...(await checkMetrics(url, keys, sentOf(stored), 7)),
      ...(await checkVerify(scene, env)),
    ];
  };

  beforeEach(() => {
    scene = new Scene(1);
  });
  afterEach(async () => {
    sender?.close();
    await log?.close();
    await scene.end();
    await database?.drop();
  });

  for (const { name, open } of eventStores) {
    // A real one under load has forgotten an id by the time it is sent again, and stores it twice. It counts once.
    const mayDouble = name === 'EventStoreDB';
    it(`${name}: two APIs and two projectors count the same, after ${KILLS} kills of a projector`, async () => {
      const store = await open();
      scene.later(() => store.release());
      await settle(store);
      const { service: one } = await Service.start(scene, { env, projectors: 0 });
      const { service: other } = await Service.start(scene, { env, projectors: 0 });
      const start = (): Process => Process.start(scene, 'projections/main', env);
      const projectors = [start(), start()];
      await begin([() => one.url, () => other.url]);
      const stop = new AbortController();
      const delivering = sender.deliver(queue, stop.signal);
      for (let kill = 0; kill < KILLS; kill++) {
        await progress(projectors);
        await sleep(scene.random.next() * 100);
        const victim = kill % 2;
        await projectors[victim]!.kill();
        projectors[victim] = start();
      }
      await progress(projectors);
      stop.abort();
      await delivering;
      expect(sender.history.acknowledged.length).toBeGreaterThan(200);
      expect(await recount(one.url, mayDouble)).toEqual([]);
      // Log and read models are those of both.
      await counted(other.url);
      expect(await checkMetrics(other.url, keys, sentOf(await wholeLog(log)), 11)).toEqual([]);
    }, 400_000);

    it(`${name}: read models that were dropped come back from the log alone, with the same answers`, async () => {
      const store = await open();
      scene.later(() => store.release());
      await settle(store);
      let { service } = await Service.start(scene, { env });
      await begin([() => service.url]);
      await sender.deliver(inBatches([...brandsAndFlags(), ...upstream(scene.random, 1_000)], BATCH));
      await counted(service.url);
      const random = new Random(3);
      const queries = Array.from({ length: 30 }, () => randomQuery(random));
      const answers = async (): Promise<unknown[]> => {
        const all = [];
        for (const query of queries) all.push(await askMetrics(service.url, keys, query));
        return all;
      };
      const before = await answers();
      await service.stop();
      await database.pool.query('drop schema read cascade');
      ({ service } = await Service.start(scene, { env }));
      await keysKnown(service.url, keys);
      await counted(service.url);
      expect(await answers()).toEqual(before);
      expect(await recount(service.url, mayDouble)).toEqual([]);
    }, 120_000);
  }

  it('survives kills and silences of the event store: nothing is lost, each event counts once', async () => {
    const double = await EventStoreDouble.start();
    scene.later(() => double.stop());
    await settle({ name: 'a double', url: double.url, release: async () => {} });
    const { service } = await Service.start(scene, { env });
    await begin([() => service.url]);
    const stop = new AbortController();
    const delivering = sender.deliver(queue, stop.signal);
    const refused = () => sender.history.attempts.filter(({ status }) => status === 503).length;
    for (let fault = 0; fault < FAULT_ROUNDS + 2; fault++) {
      await sleep(200 + scene.random.next() * 200);
      const before = refused();
      if (fault % 3 === 2) double.silence();
      else await double.kill();
      await eventuallyPasses(() => expect(refused()).toBeGreaterThan(before));
      if (fault % 3 === 2) double.speak();
      else await double.restart();
      const acknowledged = sender.history.acknowledged.length;
      await eventually('more is acknowledged', () => sender.history.acknowledged.length !== acknowledged);
    }
    stop.abort();
    await delivering;
    const slowest = Math.max(...sender.history.attempts.map(({ ms }) => ms));
    expect(slowest).toBeLessThan(5_000);
    expect(sender.history.attempts.filter(({ status, retryAfter }) => status === 503 && !retryAfter)).toEqual([]);
    expect(await recount(service.url, true)).toEqual([]);
  }, 180_000);
});

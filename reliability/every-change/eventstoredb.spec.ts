import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { checkLog, checkMetrics, checkVerify, waitUntilCounted, sentOf, wholeLog } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import { Process } from '../rig/processes.js';
import { RunContext } from '../rig/run-context.js';
import { eventStores } from '../../test/support/event-store.js';

/** Several APIs and projectors, rebuilt read models and an event store that fails: `reliability/eventstoredb`. */
describe('The built service with its log in EventStoreDB', () => {
  let context: RunContext;

  beforeEach(() => {
    context = new RunContext(1);
  });
  afterEach(() => context.end());

  for (const { name, open: openStore } of eventStores) {
    // A real server under load may have forgotten an id before the retry. It then stores the event twice.
    const mayDouble = name === 'EventStoreDB';
    it(`${name}: counts each event once after the projector was killed`, async () => {
      const store = await openStore();
      context.onEnd(() => store.release());
      const database = await context.database({ migrated: false });
      const settings = { DATABASE_URL: database.url, EVENTSTORE_URL: store.url };
      const { service, keys, log, env } = await startService(context, settings, { projectors: 0 });
      const sender = new Sender(() => service.url, keys.ingest, new History(context));
      const projector = Process.start(context, 'projections/main', env);
      await sender.deliver(inBatches(fullLoad(context.random, 200), 50));
      await waitUntilCounted(service.url);
      await projector.kill();
      await sender.deliver(inBatches(fullLoad(context.random, 200), 50));
      Process.start(context, 'projections/main', env);
      await waitUntilCounted(service.url);
      const stored = await wholeLog(log);
      const findings = checkLog(stored, sender.history.acknowledged);
      expect(findings.filter((finding) => !(mayDouble && /more than once/.test(finding)))).toEqual([]);
      expect(sender.history.wrong).toEqual([]);
      expect(await checkMetrics(service.url, keys, sentOf(stored), 7)).toEqual([]);
      expect(await checkVerify(context, env)).toEqual([]);
    });
  }
});

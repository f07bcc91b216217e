import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { metrics } from '../../projections/metrics/projection.js';
import { applyLog } from '../../projections/engine/apply-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { ORGANIZATIONS } from '../../test/support/histories.js';
import { type Sent, sentReport, stored } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { sendRequest } from '../rig/http-request.js';
import { checkAll, waitUntilCounted } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import { call } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';

interface Scale {
  readonly events: number;
  /** The rate during the rebuild. */
  readonly eventsPerSecond: number;
  readonly rebuilds: number;
}

const BEFORE_LIVE = '2026-01-31T00:00:00Z';
const AT = '2026-02-01T00:00:00Z';

/** An event later than all loaded events. */
const live = (n: number): Sent => sentReport(`live-${n}`, { createdAt: AT, updatedAt: AT }, `live-${n}`);

/** Rebuilds naively: truncates the live tables and fills them again. */
const rebuildInPlace = async (pool: Pool, log: EventLog): Promise<void> => {
  await pool.query(`truncate ${metrics.tables.map((table) => `read.${table}`).join()}`);
  await applyLog({ pool, log }, [{ projection: metrics, schema: 'read' }], { upTo: await log.head() });
};

const rebuildLive = async (
  context: RunContext,
  { events, eventsPerSecond, rebuilds }: Scale,
  isInPlace = false,
): Promise<Outcome> => {
  const database = await context.database();
  const opened = await startService(context, { DATABASE_URL: database.url });
  const { service, log, keys, env } = opened;
  const history = new History(context);
  let loaded = 0;
  for (const batch of inBatches(fullLoad(context.random, events), 1_000)) {
    await log.appendAll(batch.map(stored));
    loaded += batch.length;
    context.reportProgress(`${loaded} of ${events} loaded`);
  }
  await waitUntilCounted(service.url, 600_000);
  const metricsBeforeLive = async (organization: string): Promise<string> => {
    const url = `${service.url}/v2/organization/metrics?endDate=${BEFORE_LIVE}`;
    return JSON.stringify((await sendRequest(url, { key: keys.read[organization]! })).body);
  };
  const expected = new Map<string, string>();
  for (const organization of ORGANIZATIONS) expected.set(organization, await metricsBeforeLive(organization));
  const stop = new AbortController();
  const findings: string[] = [];
  let looks = 0;
  const readers = ORGANIZATIONS.map(async (organization) => {
    while (!stop.signal.aborted) {
      const counted = await metricsBeforeLive(organization);
      looks += 1;
      if (counted !== expected.get(organization) && findings.length < 10)
        findings.push(`A reader got ${counted} instead of ${expected.get(organization)}`);
      await sleep(5);
    }
  });
  const sender = new Sender(() => service.url, keys.ingest, history, 1);
  let sentLive = 0;
  const sending = (async () => {
    const begin = Date.now();
    while (!stop.signal.aborted) {
      const expected = Math.floor(((Date.now() - begin) / 1000) * eventsPerSecond);
      const batch = Array.from({ length: Math.min(expected - sentLive, 1_000) }, (_, n) => live(sentLive + n));
      sentLive += batch.length;
      if (batch.length > 0) await sender.deliver([batch].values());
      await sleep(20);
    }
  })();
  const rebuildMs: number[] = [];
  for (let n = 1; n <= rebuilds && findings.length === 0; n += 1) {
    context.reportProgress(`rebuild ${n} of ${rebuilds}`);
    const begin = Date.now();
    if (isInPlace) {
      // The projector writes the same rows meanwhile, so this can fail. What counts is what readers have seen.
      await rebuildInPlace(database.pool, log).catch((error: Error) => findings.push(`The rebuild failed: ${error}`));
    } else {
      const { code, output } = await call(context, env, ['projections', 'rebuild']);
      if (code !== 0) findings.push(`projections rebuild ended with ${code}: ${output}`);
    }
    rebuildMs.push(Date.now() - begin);
  }
  await sleep(200);
  stop.abort();
  await Promise.all([...readers, sending]);
  if (!isInPlace) findings.push(...history.wrong, ...(await checkAll(context, opened, history.acknowledged)));
  return {
    workload: `${loaded} events, ${sentLive} more at ${eventsPerSecond} a second, ${rebuilds} rebuilds`,
    observed: `${looks} reads during the rebuild, none with a partial count; a rebuild took up to ${Math.max(...rebuildMs)} ms`,
    findings,
  };
};

export const liveRebuild: Scenario<Scale> = {
  name: 'F11',
  what: 'a rebuild while events arrive and readers read',
  full: { events: 1_000_000, eventsPerSecond: 500, rebuilds: 1 },
  run: (context, scale) => rebuildLive(context, scale),
  guard: 'a rebuild fills separate tables and switches once',
  controlScale: { events: 5_000, eventsPerSecond: 100 },
  withoutGuard: (context, scale) => rebuildLive(context, scale, true),
  controlFinding: /^A reader got/,
};

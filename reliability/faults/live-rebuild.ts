import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { metrics } from '../../projections/metrics/projection.js';
import { applyLog } from '../../projections/engine/apply-log.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import { ORGANIZATIONS } from '../../test/projections/histories.js';
import { type Sent, sentReport, stored } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { ask } from '../rig/ask.js';
import { checkAll, counted } from '../rig/check.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { open } from '../rig/opened.js';
import { call } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';

interface Dose {
  readonly events: number;
  /** During the rebuild. */
  readonly eventsPerSecond: number;
  readonly rebuilds: number;
}

const BEFORE_LIVE = '2026-01-31T00:00:00Z';
const AT = '2026-02-01T00:00:00Z';

/** An event after everything that was loaded before. */
const live = (n: number): Sent => sentReport(`live-${n}`, { createdAt: AT, updatedAt: AT }, `live-${n}`);

/** Empties the live tables and fills them again, under the eyes of the readers. */
const rebuildInPlace = async (pool: Pool, log: EventLog): Promise<void> => {
  await pool.query(`truncate ${metrics.tables.map((table) => `read.${table}`).join()}`);
  await applyLog({ pool, log }, [{ projection: metrics, schema: 'read' }]);
};

const rebuildLive = async (
  scene: Scene,
  { events, eventsPerSecond, rebuilds }: Dose,
  isInPlace = false,
): Promise<Outcome> => {
  const database = await scene.database();
  const opened = await open(scene, { DATABASE_URL: database.url });
  const { service, log, keys, env } = opened;
  const history = new History(scene);
  let loaded = 0;
  for (const batch of inBatches(fullLoad(scene.random, events), 1_000)) {
    await log.appendAll(batch.map(stored));
    loaded += batch.length;
    scene.tell(`${loaded} of ${events} loaded`);
  }
  await counted(service.url, 600_000);
  const past = async (organization: string): Promise<string> => {
    const url = `${service.url}/v2/organization/metrics?endDate=${BEFORE_LIVE}`;
    return JSON.stringify((await ask(url, { key: keys.read[organization]! })).body);
  };
  const due = new Map<string, string>();
  for (const organization of ORGANIZATIONS) due.set(organization, await past(organization));
  const stop = new AbortController();
  const findings: string[] = [];
  let looks = 0;
  const readers = ORGANIZATIONS.map(async (organization) => {
    while (!stop.signal.aborted) {
      const seen = await past(organization);
      looks += 1;
      if (seen !== due.get(organization) && findings.length < 10)
        findings.push(`A reader saw ${seen} where ${due.get(organization)} was counted`);
      await sleep(5);
    }
  });
  const sender = new Sender(() => service.url, keys.ingest, history, 1);
  let sentLive = 0;
  const sending = (async () => {
    const begin = Date.now();
    while (!stop.signal.aborted) {
      const due = Math.floor(((Date.now() - begin) / 1000) * eventsPerSecond);
      const batch = Array.from({ length: Math.min(due - sentLive, 1_000) }, (_, n) => live(sentLive + n));
      sentLive += batch.length;
      if (batch.length > 0) await sender.deliver([batch].values());
      await sleep(20);
    }
  })();
  const took: number[] = [];
  for (let n = 1; n <= rebuilds && findings.length === 0; n += 1) {
    scene.tell(`rebuild ${n} of ${rebuilds}`);
    const begin = Date.now();
    if (isInPlace) await rebuildInPlace(database.pool, log);
    else {
      const { code, output } = await call(scene, env, ['projections', 'rebuild']);
      if (code !== 0) findings.push(`projections rebuild ended with ${code}: ${output}`);
    }
    took.push(Date.now() - begin);
  }
  await sleep(200);
  stop.abort();
  await Promise.all([...readers, sending]);
  if (!isInPlace) findings.push(...history.wrong, ...(await checkAll(scene, opened, history.acknowledged)));
  return {
    dose: `${loaded} events, ${sentLive} more at ${eventsPerSecond} a second, ${rebuilds} rebuilds`,
    seen: `${looks} looks in the meantime, none of a partial count; a rebuild took up to ${Math.max(...took)} ms`,
    findings,
  };
};

export const liveRebuild: Scenario<Dose> = {
  name: 'F11',
  what: 'a rebuild while events arrive and readers read',
  full: { events: 1_000_000, eventsPerSecond: 500, rebuilds: 1 },
  run: (scene, dose) => rebuildLive(scene, dose),
  guard: 'it fills tables beside the live ones and switches once',
  counterTest: { events: 5_000, eventsPerSecond: 100 },
  without: (scene, dose) => rebuildLive(scene, dose, true),
};

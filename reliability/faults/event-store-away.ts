import { setTimeout as sleep } from 'node:timers/promises';
import { ORGANIZATIONS } from '../../test/projections/histories.js';
import { eventually } from '../../test/support/eventually.js';
import type { Outcome, Scenario } from '../scenario.js';
import { untrueClaims, WATCHED } from '../rig/acknowledgements.js';
import { ask } from '../rig/ask.js';
import { checkLog, checkMetrics, checkVerify, counted, sentOf, wholeLog } from '../rig/check.js';
import { EventStoreReaders } from '../rig/event-store-readers.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { open } from '../rig/opened.js';
import { died } from '../rig/outage.js';
import { noEventStore, OwnEventStore } from '../rig/own-event-store.js';
import type { Scene } from '../rig/scene.js';
import { webhookSettings } from '../rig/webhook.js';

const AWAY_MS = 2_000;
const DEEDS = {
  killed: async (store: OwnEventStore) => {
    await store.kill();
    await sleep(AWAY_MS);
    await store.start();
  },
  stopped: async (store: OwnEventStore) => {
    await store.stop();
    await sleep(AWAY_MS);
    await store.start();
  },
  restarted: async (store: OwnEventStore) => {
    await store.stop();
    await store.start();
  },
  'frozen for 1.5 s': (store: OwnEventStore) => store.freeze(1_500),
  'frozen for 15 s': (store: OwnEventStore) => store.freeze(15_000),
} as const;
type Deed = keyof typeof DEEDS;

interface Dose {
  /** Of each deed. */
  readonly rounds: number;
  readonly deeds: readonly Deed[];
}

const BATCH = 20;
const WRITERS = 2;
/** How long the load runs between two deeds, ms. */
const CALM_MS = 1_000;
/** How soon `X-As-Of` must go on after the store is back. A node is trusted after it has led for 5 s. */
const FRESH_WITHIN_MS = 40_000;
const OTHER = 'acme';

const disturb = async (scene: Scene, { rounds, deeds }: Dose, preload?: string): Promise<Outcome> => {
  const store = await OwnEventStore.start(scene);
  const database = await scene.database({ migrated: false });
  const env = {
    DATABASE_URL: database.url,
    EVENTSTORE_URL: store.url,
    ...(await webhookSettings(await scene.folder())),
  };
  const { service, log, keys } = await open(scene, env, { organizations: [...ORGANIZATIONS, WATCHED], preload });
  const key = keys.read[OTHER]!;
  const json = { url: 'http://127.0.0.1:9999/hooks' };
  const webhook = await ask(`${service.url}/v2/organization/webhooks`, { key, json });
  if (webhook.status !== 201)
    throw new Error(`The webhook was answered ${webhook.status}: ${JSON.stringify(webhook.body)}`);

  const readerKeys = { ingest: keys.ingest, watched: keys.read[WATCHED]!, other: key };
  const readers = new EventStoreReaders(() => service.url, readerKeys, webhook.body.id as string, database.pool);
  scene.later(() => readers.stop());
  await readers.start(WRITERS);
  const history = new History(scene);
  const sender = new Sender(() => service.url, keys.ingest, history, 2);
  const stopSending = sender.keepDelivering(inBatches(fullLoad(scene.random), BATCH));

  const findings: string[] = [];
  const fresh: number[] = [];
  const all = Array.from({ length: rounds }, () => deeds).flat();
  for (const [round, deed] of all.entries()) {
    scene.tell(
      `${deed}, ${round + 1} of ${all.length}, ${readers.filed.acknowledged + history.acknowledged.length} acknowledged`,
    );
    const { acknowledged } = readers.filed;
    await eventually('more is acknowledged', () => readers.filed.acknowledged > acknowledged);
    await sleep(CALM_MS * (0.5 + scene.random.next()));
    await DEEDS[deed](store);
    const back = await readers.filed.databaseTime();
    const since = performance.now();
    const isFresh = async (): Promise<boolean> => ((await readers.metricsAsOf()) ?? 0) > back;
    try {
      await eventually('X-As-Of goes on', isFresh, FRESH_WITHIN_MS);
    } catch {
      findings.push(`X-As-Of did not go on within ${FRESH_WITHIN_MS} ms after: ${deed}`);
      break;
    }
    fresh.push(performance.now() - since);
  }
  await stopSending();
  await readers.stop();
  findings.push(...died(service.processes), ...history.wrong, ...readers.findings);
  const { filed, claims, statuses } = readers;
  const untrue = untrueClaims(claims, filed.all);
  if (untrue.length > 0)
    findings.push(`${untrue.length} of ${claims.length} X-As-Of are untrue: ${untrue.slice(0, 3).join('; ')}`);

  const acknowledged = [...history.acknowledged, ...filed.all.flatMap(({ events }) => events)];
  const stored = await wholeLog(log);
  // An event whose append had an unknown outcome may be stored twice; it counts once, which the recounts show.
  const ofLog = checkLog(stored, acknowledged).filter((finding) => !finding.endsWith('more than once'));
  const doubled = stored.length - new Set(stored.map(({ id }) => id)).size;
  findings.push(...ofLog);
  if (preload === undefined) {
    await counted(service.url, 120_000);
    findings.push(
      ...(await checkVerify(scene, env)),
      ...(await checkMetrics(service.url, keys, sentOf(stored), scene.seed)),
    );
  }
  const answers = [...statuses].sort(([one], [other]) => one - other).map(([status, n]) => `${n} × ${status}`);
  return {
    dose: `${rounds} of each (${deeds.join(', ')}), ${acknowledged.length} acknowledged`,
    seen:
      `0 lost, recount 0, ${doubled} stored twice and counted once; ${readers.total} reads: ${answers.join(', ')}; ` +
      `0 of ${claims.length} X-As-Of untrue, 0 of ${readers.tokenReads} tokens without their event; ` +
      `X-As-Of went on after at most ${(Math.max(0, ...fresh) / 1_000).toFixed(1)} s`,
    findings,
  };
};

const GUARD = 'isComplete ? resolve(found)';
const HOOK = `
  export const load = async (url, context, next) => {
    const loaded = await next(url, context);
    if (!url.endsWith('/event-log/eventstoredb/client.js')) return loaded;
    const source = String(loaded.source);
    if (!source.includes('${GUARD}')) throw new Error('The client of the event store has changed');
    return { ...loaded, source: source.replace('${GUARD}', 'true ? resolve(found)') };
  };
`;
const asModule = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
/** Loaded into the service: its client of the event store takes an end of a stream for an end of data. */
const UNGUARDED = asModule(`
  import { register } from 'node:module';
  register(${JSON.stringify(asModule(HOOK))});
`);

export const eventStoreAway: Scenario<Dose> = {
  name: 'F32',
  what: 'a real EventStoreDB server killed, stopped, restarted and frozen under load',
  full: { rounds: 10, deeds: Object.keys(DEEDS) as Deed[] },
  unfit: noEventStore,
  run: (scene, dose) => disturb(scene, dose),
  guard: 'the end of a stream is an end of data only if the server says so',
  counterTest: { rounds: 2, deeds: ['stopped', 'killed', 'frozen for 1.5 s'] },
  without: (scene, dose) => disturb(scene, dose, UNGUARDED),
};

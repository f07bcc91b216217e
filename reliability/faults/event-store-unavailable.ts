import { setTimeout as sleep } from 'node:timers/promises';
import { ORGANIZATIONS } from '../../test/support/histories.js';
import { eventually } from '../../test/support/eventually.js';
import type { Outcome, Scenario } from '../scenario.js';
import { untrueClaims, WATCHED } from '../rig/acknowledgements.js';
import { sendRequest } from '../rig/http-request.js';
import { checkLog, checkMetrics, checkVerify, waitUntilCounted, sentOf, wholeLog } from '../rig/check.js';
import { EventStoreReaders } from '../rig/event-store-readers.js';
import { fullLoad, History, inBatches, Sender } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import { endedProcesses } from '../rig/outage.js';
import { noEventStore, EventStoreServer } from '../rig/event-store-server.js';
import type { RunContext } from '../rig/run-context.js';
import { webhookSettings } from '../rig/webhook.js';

const AWAY_MS = 2_000;
const DISRUPTIONS = {
  killed: async (store: EventStoreServer) => {
    await store.kill();
    await sleep(AWAY_MS);
    await store.start();
  },
  stopped: async (store: EventStoreServer) => {
    await store.stop();
    await sleep(AWAY_MS);
    await store.start();
  },
  restarted: async (store: EventStoreServer) => {
    await store.stop();
    await store.start();
  },
  'frozen for 1.5 s': (store: EventStoreServer) => store.freeze(1_500),
  'frozen for 15 s': (store: EventStoreServer) => store.freeze(15_000),
} as const;
type Disruption = keyof typeof DISRUPTIONS;

interface Scale {
  /** Rounds per disruption. */
  readonly rounds: number;
  readonly disruptions: readonly Disruption[];
}

const BATCH = 20;
const WRITERS = 2;
/** How long the load runs between two disruptions. */
const CALM_MS = 1_000;
/** How soon `X-As-Of` must advance after a disruption. A node is trusted once it has been the leader for 5 s. */
const FRESH_WITHIN_MS = 40_000;
const WEBHOOK_ORGANIZATION = 'acme';

const disturb = async (context: RunContext, { rounds, disruptions }: Scale, preload?: string): Promise<Outcome> => {
  const store = await EventStoreServer.start(context);
  const database = await context.database({ migrated: false });
  const env = {
    DATABASE_URL: database.url,
    EVENTSTORE_URL: store.url,
    ...(await webhookSettings(await context.folder())),
  };
  const { service, log, keys } = await startService(context, env, {
    organizations: [...ORGANIZATIONS, WATCHED],
    preload,
  });
  const key = keys.read[WEBHOOK_ORGANIZATION]!;
  const json = { url: 'http://127.0.0.1:9999/hooks' };
  const webhook = await sendRequest(`${service.url}/v2/organization/webhooks`, { key, json });
  if (webhook.status !== 201)
    throw new Error(`Creating the webhook got the status ${webhook.status}: ${JSON.stringify(webhook.body)}`);

  const readerKeys = { ingest: keys.ingest, watched: keys.read[WATCHED]!, other: key };
  const readers = new EventStoreReaders(() => service.url, readerKeys, webhook.body.id as string, database.pool);
  context.onEnd(() => readers.stop());
  await readers.start(WRITERS);
  const history = new History(context);
  const sender = new Sender(() => service.url, keys.ingest, history, 2);
  const stopSending = sender.keepDelivering(inBatches(fullLoad(context.random), BATCH));

  const findings: string[] = [];
  const advancedAfterMs: number[] = [];
  const all = Array.from({ length: rounds }, () => disruptions).flat();
  for (const [round, disruption] of all.entries()) {
    context.reportProgress(
      `${disruption}, ${round + 1} of ${all.length}, ${readers.filed.acknowledged + history.acknowledged.length} acknowledged`,
    );
    const { acknowledged } = readers.filed;
    await eventually('more is acknowledged', () => readers.filed.acknowledged > acknowledged);
    await sleep(CALM_MS * (0.5 + context.random.next()));
    await DISRUPTIONS[disruption](store);
    const backAt = await readers.filed.databaseTime();
    const since = performance.now();
    const isFresh = async (): Promise<boolean> => ((await readers.metricsAsOf()) ?? 0) > backAt;
    try {
      await eventually('X-As-Of advances', isFresh, FRESH_WITHIN_MS);
    } catch {
      findings.push(`X-As-Of did not advance within ${FRESH_WITHIN_MS} ms after: ${disruption}`);
      break;
    }
    advancedAfterMs.push(performance.now() - since);
  }
  await stopSending();
  await readers.stop();
  findings.push(...endedProcesses(service.processes), ...history.wrong, ...readers.findings);
  const { filed, claims, statuses } = readers;
  const untrue = untrueClaims(claims, filed.all);
  if (untrue.length > 0)
    findings.push(`${untrue.length} of ${claims.length} X-As-Of are wrong: ${untrue.slice(0, 3).join('; ')}`);

  const acknowledged = [...history.acknowledged, ...filed.all.flatMap(({ events }) => events)];
  const stored = await wholeLog(log);
  // An event whose append had an unknown outcome may be stored twice, but the recounts show that it counts once.
  const logFindings = checkLog(stored, acknowledged).filter((finding) => !finding.endsWith('more than once'));
  const doubled = stored.length - new Set(stored.map(({ id }) => id)).size;
  findings.push(...logFindings);
  if (preload === undefined) {
    await waitUntilCounted(service.url, 120_000);
    findings.push(
      ...(await checkVerify(context, env)),
      ...(await checkMetrics(service.url, keys, sentOf(stored), context.seed)),
    );
  }
  const answers = [...statuses].sort(([one], [other]) => one - other).map(([status, n]) => `${n} × ${status}`);
  return {
    workload: `${rounds} of each (${disruptions.join(', ')}), ${acknowledged.length} acknowledged`,
    observed:
      `none lost, recount without differences, ${doubled} stored twice and counted once; ${readers.total} reads: ${answers.join(', ')}; ` +
      `0 of ${claims.length} X-As-Of wrong, 0 of ${readers.tokenReads} tokens without their event; ` +
      `X-As-Of advanced after at most ${(Math.max(0, ...advancedAfterMs) / 1_000).toFixed(1)} s`,
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
/** A module for the service that makes its EventStoreDB client treat every end of a stream as the end of the data. */
const UNGUARDED = asModule(`
  import { register } from 'node:module';
  register(${JSON.stringify(asModule(HOOK))});
`);

export const eventStoreUnavailable: Scenario<Scale> = {
  name: 'F32',
  what: 'a real EventStoreDB server is killed, stopped, restarted and frozen under load',
  full: { rounds: 10, disruptions: Object.keys(DISRUPTIONS) as Disruption[] },
  skipReason: noEventStore,
  run: (context, scale) => disturb(context, scale),
  guard: 'the end of a stream is the end of the data only if the server confirms it',
  controlScale: { rounds: 2, disruptions: ['stopped', 'killed', 'frozen for 1.5 s'] },
  withoutGuard: (context, scale) => disturb(context, scale, UNGUARDED),
};

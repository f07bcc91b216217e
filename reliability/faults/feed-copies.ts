import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ORGANIZATIONS } from '../../test/support/histories.js';
import { replayed } from '../../test/support/naive-records.js';
import { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkVerify, waitUntilCounted, wholeLog } from '../rig/check.js';
import { FeedReader, type Kind, KINDS } from '../rig/feed-reader.js';
import { type LogKind, openLogStorage } from '../rig/log-storage.js';
import { waitUntilKeysKnown } from '../rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../rig/load.js';
import { startService } from '../rig/running-service.js';
import { call, type Environment, Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { Service } from '../rig/service.js';

interface Scale {
  readonly events: number;
  /** The number of rounds. The rounds alternately kill the projector and rebuild the records. */
  readonly rounds: number;
  /** How long a reader may take to catch up, in ms. */
  readonly catchUpMs: number;
}

const BATCH = 10;
/** The event types of lists and feed. */
const IS_RECORD = /^(?:Report|Threat|Takedown|AssetStatus)/;

/** Returns shuffled events, two in five of them repeated. */
const delivered = (random: Random, size: number) => {
  const events = [...upstream(random, size)];
  return random.shuffled([...events, ...events.filter(() => random.chance(0.4))], 500);
};

/** Rebuilds the records, and retries while no projector runs after a kill. */
const rebuildRecords = async (context: RunContext, env: Environment): Promise<readonly string[]> => {
  for (let attempt = 1; ; attempt += 1) {
    const { code, output } = await call(context, env, ['projections', 'rebuild', 'records']);
    if (code === 0) return [];
    if (attempt === 5 || !output.includes('behind the rebuilt tables'))
      return [`projections rebuild ended with ${code}: ${output}`];
  }
};

const keepCopies = async (
  context: RunContext,
  kind: LogKind,
  { events, rounds, catchUpMs }: Scale,
  preload?: string,
): Promise<Outcome> => {
  const env = await openLogStorage(context, kind);
  const { service, log, keys } = await startService(context, env, { preload, projectors: 0 });
  const instances = [service, await Service.start(context, { env, preload, projectors: 0 })];
  const urls = instances.map((instance) => () => instance.url);
  const startProjector = (): Process => Process.start(context, 'projections/main', env, { preload });
  let projector = startProjector();
  for (const url of urls) await waitUntilKeysKnown(url(), keys);

  const history = new History(context);
  const sender = new Sender(urls[0]!, keys.ingest, history, 2);
  const delivering = sender.deliver(inBatches([...brandsAndFlags(), ...delivered(context.random, events)], BATCH));
  const reading = (organization: string, kinds: readonly Kind[], n: number) =>
    new FeedReader({ organization, key: keys.read[organization]!, kinds }, urls, new Random(context.seed + n));
  const readers = [
    ...ORGANIZATIONS.map((organization, n) => reading(organization, KINDS, n)),
    reading(ORGANIZATIONS[0]!, ['takedown', 'verdict'], ORGANIZATIONS.length),
  ];
  const stop = new AbortController();
  const following = readers.map((reader) => reader.follow(stop.signal));

  const findings: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    context.reportProgress(`round ${round + 1} of ${rounds}, ${history.acknowledged.length} acknowledged`);
    await sleep(context.random.int(400));
    if (round % 2 === 0) {
      await projector.kill();
      projector = startProjector();
      continue;
    }
    findings.push(...(await rebuildRecords(context, env)));
  }
  await delivering;
  await waitUntilCounted(instances[0]!.url, 600_000);
  stop.abort();
  await Promise.all(following);
  for (const reader of readers) {
    await reader.catchUp(catchUpMs);
    findings.push(...reader.findings.slice(0, 3), ...(await reader.compare()));
  }
  const stored = await wholeLog(log);
  const expected = replayed(stored.filter(({ type }) => IS_RECORD.test(type))).filter(({ item }) => item !== undefined);
  for (const [n, organization] of ORGANIZATIONS.entries()) {
    const expectedItems = new Map(
      expected
        .filter((seen) => seen.organization === organization)
        .map((seen) => [`${seen.kind} ${seen.id}`, seen.item]),
    );
    const copy = readers[n]!.items();
    for (const key of new Set([...expectedItems.keys(), ...copy.keys()]))
      if (JSON.stringify(copy.get(key)) !== JSON.stringify(expectedItems.get(key)))
        findings.push(
          `${organization}’s ${key} is ${JSON.stringify(copy.get(key))}, but a replay gives ${JSON.stringify(expectedItems.get(key))}`,
        );
  }
  findings.push(...history.wrong);
  if (preload === undefined) findings.push(...(await checkVerify(context, env)));
  const kills = readers.reduce((sum, reader) => sum + reader.kills, 0);
  return {
    workload: `${history.acknowledged.length} events, many repeated and out of order; ${rounds} rounds, alternately a kill of the projector and a rebuild`,
    observed: `${readers.length} readers killed ${kills} times; copy, list and replay agree on all ${expected.length} records`,
    findings,
  };
};

/** The bundled package of the built service. */
const BUNDLED_PG = pathToFileURL(resolve('dist/node_modules/pg/index.mjs')).href;

/** Returns a module for the service that changes one of its statements. */
const withChangedStatement = (name: string, what: string, instead: string): string =>
  `data:text/javascript,${encodeURIComponent(`
    import { Client } from ${JSON.stringify(BUNDLED_PG)};
    const { query } = Client.prototype;
    Client.prototype.query = function (config, ...rest) {
      if (!config?.name?.startsWith(${JSON.stringify(name)})) return query.call(this, config, ...rest);
      const text = config.text.replaceAll(${JSON.stringify(what)}, ${JSON.stringify(instead)});
      if (text === config.text) throw new Error('The statement ' + config.name + ' has changed');
      return query.call(this, { ...config, text }, ...rest);
    };
  `)}`;

const CONTROL_SCALE = { events: 1_500, rounds: 0 };

export const copyOnPostgres: Scenario<Scale> = {
  name: 'F34',
  what: 'feed readers keep copies of the records while readers and projector are killed and the records are rebuilt; log in PostgreSQL',
  full: { events: 150_000, rounds: 40, catchUpMs: 30_000 },
  run: (context, scale) => keepCopies(context, 'PostgreSQL', scale),
  guard: 'the feed is ordered by position',
  controlScale: CONTROL_SCALE,
  withoutGuard: (context, scale) =>
    keepCopies(
      context,
      'PostgreSQL',
      scale,
      withChangedStatement('feed-next', 'order by position limit $3::int', 'order by id limit $3::int'),
    ),
  controlFinding: /, but a replay gives /,
};

export const copyOnEventStore: Scenario<Scale> = {
  name: 'F35',
  what: 'F34 with the log in EventStoreDB',
  full: copyOnPostgres.full,
  run: (context, scale) => keepCopies(context, 'EventStoreDB', scale),
  guard: 'a changed record moves to the position of the change',
  controlScale: CONTROL_SCALE,
  withoutGuard: (context, scale) =>
    keepCopies(
      context,
      'EventStoreDB',
      scale,
      withChangedStatement('records-store', 'event_id = excluded.event_id, position = excluded.position,', ''),
    ),
  controlFinding: /, but a replay gives /,
};

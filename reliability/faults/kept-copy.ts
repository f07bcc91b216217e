import { resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { ORGANIZATIONS } from '../../test/projections/histories.js';
import { replayed } from '../../test/projections/naive-records.js';
import { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { checkVerify, counted, wholeLog } from '../rig/check.js';
import { CopyKeeper, type Kind, KINDS } from '../rig/copy-keeper.js';
import { type LogKind, openGround } from '../rig/ground.js';
import { keysKnown } from '../rig/keys.js';
import { brandsAndFlags, History, inBatches, Sender, upstream } from '../rig/load.js';
import { open } from '../rig/opened.js';
import { call, type Environment, Process } from '../rig/processes.js';
import type { Scene } from '../rig/scene.js';
import { Service } from '../rig/service.js';

interface Dose {
  readonly events: number;
  /** In turn: the projector is killed, the records are rebuilt. */
  readonly rounds: number;
  /** How long a reader may take to read the rest, however much it is. */
  readonly catchUpMs: number;
}

const BATCH = 10;
/** Types of the events that lists and feed are made of. */
const IS_RECORD = /^(?:Report|Threat|Takedown|AssetStatus)/;

/** Shuffled within a window, and two in five once more. */
const delivered = (random: Random, size: number) => {
  const events = [...upstream(random, size)];
  return random.shuffled([...events, ...events.filter(() => random.chance(0.4))], 500);
};

/** It gives up while nobody projects, as after a kill; the operator calls again. */
const rebuildRecords = async (scene: Scene, env: Environment): Promise<readonly string[]> => {
  for (let attempt = 1; ; attempt += 1) {
    const { code, output } = await call(scene, env, ['projections', 'rebuild', 'records']);
    if (code === 0) return [];
    if (attempt === 5 || !output.includes('behind the rebuilt tables'))
      return [`projections rebuild ended with ${code}: ${output}`];
  }
};

const keepCopies = async (
  scene: Scene,
  kind: LogKind,
  { events, rounds, catchUpMs }: Dose,
  preload?: string,
): Promise<Outcome> => {
  const env = await openGround(scene, kind);
  const { service, log, keys } = await open(scene, env, { preload, projectors: 0 });
  const instances = [service, await Service.start(scene, { env, preload, projectors: 0 })];
  const urls = instances.map((instance) => () => instance.url);
  const startProjector = (): Process => Process.start(scene, 'projections/main', env, { preload });
  let projector = startProjector();
  for (const url of urls) await keysKnown(url(), keys);

  const history = new History(scene);
  const sender = new Sender(urls[0]!, keys.ingest, history, 2);
  const delivering = sender.deliver(inBatches([...brandsAndFlags(), ...delivered(scene.random, events)], BATCH));
  const reading = (organization: string, kinds: readonly Kind[], n: number) =>
    new CopyKeeper({ organization, key: keys.read[organization]!, kinds }, urls, new Random(scene.seed + n));
  const readers = [
    ...ORGANIZATIONS.map((organization, n) => reading(organization, KINDS, n)),
    reading(ORGANIZATIONS[0]!, ['takedown', 'verdict'], ORGANIZATIONS.length),
  ];
  const stop = new AbortController();
  const following = readers.map((reader) => reader.follow(stop.signal));

  const findings: string[] = [];
  for (let round = 0; round < rounds; round += 1) {
    scene.tell(`round ${round + 1} of ${rounds}, ${history.acknowledged.length} acknowledged`);
    await sleep(scene.random.int(400));
    if (round % 2 === 0) {
      await projector.kill();
      projector = startProjector();
      continue;
    }
    findings.push(...(await rebuildRecords(scene, env)));
  }
  await delivering;
  await counted(instances[0]!.url, 600_000);
  stop.abort();
  await Promise.all(following);
  for (const reader of readers) {
    await reader.catchUp(catchUpMs);
    findings.push(...reader.findings.slice(0, 3), ...(await reader.compare()));
  }
  const stored = await wholeLog(log);
  const due = replayed(stored.filter(({ type }) => IS_RECORD.test(type))).filter(({ item }) => item !== undefined);
  for (const [n, organization] of ORGANIZATIONS.entries()) {
    const wanted = new Map(
      due.filter((seen) => seen.organization === organization).map((seen) => [`${seen.kind} ${seen.id}`, seen.item]),
    );
    const copy = readers[n]!.items();
    for (const key of new Set([...wanted.keys(), ...copy.keys()]))
      if (JSON.stringify(copy.get(key)) !== JSON.stringify(wanted.get(key)))
        findings.push(
          `${organization}’s ${key} is ${JSON.stringify(copy.get(key))}, a replay says ${JSON.stringify(wanted.get(key))}`,
        );
  }
  findings.push(...history.wrong);
  if (preload === undefined) findings.push(...(await checkVerify(scene, env)));
  const kills = readers.reduce((sum, reader) => sum + reader.kills, 0);
  return {
    dose: `${history.acknowledged.length} events, many twice and out of order; ${rounds} kills of the projector and rebuilds`,
    seen: `${readers.length} readers killed ${kills} times; of ${due.length} records 0 differ between copy, list and replay`,
    findings,
  };
};

/** The package as the built service has it. */
const BUNDLED_PG = pathToFileURL(resolve('dist/node_modules/pg/index.mjs')).href;

/** Loaded into the service: one of its statements says something else. */
const saying = (name: string, what: string, instead: string): string =>
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

const COUNTER_TEST = { events: 1_500, rounds: 0 };

export const copyOnPostgres: Scenario<Dose> = {
  name: 'F34',
  what: 'copies kept by the feed while readers and projector are killed and the records rebuilt, the log in PostgreSQL',
  full: { events: 150_000, rounds: 40, catchUpMs: 30_000 },
  run: (scene, dose) => keepCopies(scene, 'PostgreSQL', dose),
  guard: 'the feed is in the order of the log’s positions',
  counterTest: COUNTER_TEST,
  without: (scene, dose) =>
    keepCopies(scene, 'PostgreSQL', dose, saying('feed-next', 'order by position limit', 'order by id limit')),
};

export const copyOnEventStore: Scenario<Dose> = {
  name: 'F35',
  what: 'the same, the log in EventStoreDB',
  full: copyOnPostgres.full,
  run: (scene, dose) => keepCopies(scene, 'EventStoreDB', dose),
  guard: 'a record that changes moves to where the change stands',
  counterTest: COUNTER_TEST,
  without: (scene, dose) =>
    keepCopies(
      scene,
      'EventStoreDB',
      dose,
      saying('records-store', 'event_id = excluded.event_id, position = excluded.position,', ''),
    ),
};

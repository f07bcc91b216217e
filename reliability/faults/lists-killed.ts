import { setMaxListeners } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { check, type List } from '../../docs/examples/local-list.js';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { eventually } from '../../test/support/eventually.js';
import { Random } from '../../test/support/random.js';
import type { Outcome, Scenario } from '../scenario.js';
import { Balancer } from '../rig/balancer.js';
import { checkVerify, waitUntilCounted } from '../rig/check.js';
import { percentile, sendRequest } from '../rig/http-request.js';
import { ListClient, ListProgram } from '../rig/list-clients.js';
import { ListStatuses } from '../rig/list-statuses.js';
import { preloadOf, Process } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { startService } from '../rig/running-service.js';

interface Scale {
  /** How often the process that builds is killed. Every fifth time it is frozen instead, until another one builds too. */
  readonly rounds: number;
  /** How long delays are measured before the first kill. */
  readonly quietMs: number;
  /** The maximum p99 from an acknowledgement to a version without kills, in ms. */
  readonly quietP99Ms: number;
  /** The maximum from an acknowledgement to a version with kills, in ms. */
  readonly delayMs: number;
  readonly clients: { readonly atIntervals: number; readonly waiting: number; readonly programs: number };
}

/** Of the clients. A client that sleeps longer than the versions that a restore has removed is woken by the scenario. */
const GAP_MS = [200, 20_000] as const;
const LIFE_MS = [2_000, 15_000] as const;
const TIMEOUT_MS = 60_000;
/** How many versions a restore removes. */
const REMOVED_VERSIONS = 3;
const LEASE = `select owner from read.projector_leases where lane = 'lists' and expires_at > extract(epoch from clock_timestamp()) * 1000`;
const NEWEST = `select number::int as number from service.lists where name = 'all-8b'`;

const killBuilders = async (context: RunContext, scale: Scale, preload?: string): Promise<Outcome> => {
  const { rounds, quietMs, quietP99Ms, delayMs, clients: counts } = scale;
  const { url: databaseUrl, pool } = await context.database();
  const env = { DATABASE_URL: databaseUrl, LISTS: 'on' };
  const { service, log, keys } = await startService(context, env, { preload });
  const { key } = await issueApiKey(log, { scopes: ['lists'] });
  const balancer = await Balancer.start(context);
  const startApi = (): Process => {
    const api = Process.start(context, 'src/main', env, { preload });
    void balancer.follow(api);
    return api;
  };
  const instances = [service.api, startApi()];
  void balancer.follow(service.api);
  const urls = [0, 1].map((n) => () => instances[n]!.url ?? 'http://127.0.0.1:1');
  const isServed = async (url: string): Promise<boolean> =>
    sendRequest(`${url}/v2/lists`, { key }).then(
      ({ status }) => status === 200,
      () => false,
    );
  for (const url of urls) await eventually('the lists are served', () => isServed(url()), TIMEOUT_MS);

  let restores = 0;
  const clientOf = (n: number, gapMs?: readonly [number, number]): ListClient =>
    new ListClient({
      name: `Client ${n}`,
      list: 'all-8b',
      urls,
      key,
      random: new Random(context.seed + n),
      gapMs,
      isChecked: preload === undefined,
      restores: () => restores,
    });
  const atIntervals = Array.from({ length: counts.atIntervals }, (_, n) => clientOf(n, GAP_MS));
  const clients = [...atIntervals, ...Array.from({ length: counts.waiting }, (_, n) => clientOf(100 + n))];
  const programs: ListProgram[] = [];
  for (let n = 0; n < counts.programs; n += 1) {
    const programEnv = { LISTS_KEY: key, ...(n % 2 === 0 && { LISTS_EVERY_SECONDS: '1' }) };
    const folder = await context.folder();
    programs.push(new ListProgram(context, `Program ${n}`, folder, balancer.url, programEnv, () => restores));
  }
  const changing = new AbortController();
  const following = new AbortController();
  setMaxListeners(clients.length + programs.length + 1, following.signal);
  const statuses = new ListStatuses(() => context.random.pick(urls)(), keys.ingest, pool, context.random);
  const running = [statuses.keepChanging(changing.signal), statuses.watch(following.signal)];
  const ofClients = [
    ...clients.map((client) => client.follow(following.signal)),
    ...programs.map((program, n) => program.follow(following.signal, new Random(context.seed + 200 + n), LIFE_MS)),
  ];
  const findings: string[] = [];
  const newest = async (): Promise<number> => (await pool.query<{ number: number }>(NEWEST)).rows[0]!.number;
  const builder = async (): Promise<number | undefined> => {
    const { rows } = await pool.query<{ owner: string }>(LEASE);
    const pid = Number(rows[0]?.owner.split(':')[1]);
    const index = instances.findIndex((one) => one.pid === pid && one.isRunning);
    return index === -1 ? undefined : index;
  };
  const untilBuilt = async (isOther: (index: number) => boolean = () => true): Promise<number> => {
    let found: number | undefined;
    await eventually(
      'a process builds',
      async () => (found = await builder()) !== undefined && isOther(found),
      TIMEOUT_MS,
    );
    return found!;
  };
  const untilNumber = (number: number): Promise<void> =>
    eventually(`version ${number} is built`, async () => (await newest()) >= number, TIMEOUT_MS);

  /** Puts the tables of lists back, as after a restore, while some clients sleep until the numbers are used again. */
  const restore = async (): Promise<void> => {
    await pool.query(`create schema kept; create table kept.lists as table service.lists;
      create table kept.versions as table service.list_versions`);
    const kept = await newest();
    await untilNumber(kept + REMOVED_VERSIONS);
    // The clients that sleep have a version that will be gone.
    const sleepers = atIntervals.filter((_, n) => n % 2 === 0);
    for (const sleeper of sleepers) sleeper.isAsleep = true;
    await sleep(2_000);
    for (const sleeper of sleepers) await sleeper.update();
    const lost = await newest();
    restores += 1;
    await pool.query(`begin; lock table service.lists, service.list_versions;
      delete from service.list_versions; delete from service.lists;
      insert into service.lists select * from kept.lists;
      insert into service.list_versions select * from kept.versions; commit; drop schema kept cascade`);
    statuses.forgetRemovals();
    await untilNumber(lost + 1);
    statuses.forgetRemovals();
    for (const sleeper of sleepers) sleeper.isAsleep = false;
    for (const sleeper of sleepers) await sleeper.update();
  };

  context.reportProgress('without kills');
  await sleep(quietMs);
  const quiet = statuses.delays.splice(0);
  let freezes = 0;
  for (let round = 0; round < rounds; round += 1) {
    context.reportProgress(`round ${round + 1} of ${rounds}, version ${await newest()}`);
    if (round === Math.floor(rounds / 2)) await restore();
    const index = await untilBuilt();
    await sleep(1_000 + context.random.int(1_000));
    const victim = instances[index]!;
    if (round % 5 === 4) {
      // Both build, until the frozen one finds that it has lost the lease.
      victim.signal('SIGSTOP');
      await untilBuilt((other) => other !== index);
      victim.signal('SIGCONT');
      freezes += 1;
      continue;
    }
    await victim.kill();
    instances[index] = startApi();
    await eventually('the process listens again', () => instances[index]!.url !== undefined, TIMEOUT_MS);
  }
  const endOfKills = statuses.delays.length;

  changing.abort();
  await running[0];
  await waitUntilCounted(urls[0]!());
  // Until every status that expires has expired, and every instance is ready.
  await sleep(8_000);
  for (const url of urls) await eventually('the lists are served', () => isServed(url()), TIMEOUT_MS);
  const versionOf = async (url: string, list: number): Promise<string | undefined> =>
    (await sendRequest(`${url}/v2/lists`, { key })).body[list].version;
  const last = await versionOf(urls[0]!(), 0);
  const behind = (): string[] => [
    ...clients.flatMap(({ held }, n) => (held?.version === last ? [] : [`client ${n} has version ${held?.version}`])),
    ...programs.flatMap(({ version }, n) => (version === last ? [] : [`program ${n} has version ${version}`])),
  ];
  for (const until = Date.now() + TIMEOUT_MS; behind().length > 0 && Date.now() < until;) await sleep(100);
  findings.push(...behind().map((one) => `Although the newest version is ${last}, ${one}`));
  const unseen = statuses.waiting;
  following.abort();
  await Promise.all([running[1], ...ofClients]);
  if (unseen > 0) findings.push(`${unseen} acknowledged changes are in no version`);
  if ((await versionOf(urls[1]!(), 0)) !== last) findings.push('The instances serve different versions');

  const contents = [...statuses.contents].flatMap((content) => [content, `https://sub.${content.split('/', 1)[0]}/x`]);
  const expected: string[] = [];
  for (let at = 0; at < contents.length; at += 1_000) {
    const json = { contents: contents.slice(at, at + 1_000) };
    const { body } = await sendRequest(`${urls[0]!()}/v2/asset/check/bulk`, { key: keys.read['acme'], json });
    expected.push(...(body.results as { status: string }[]).map(({ status }) => status));
  }
  const ask = new ListClient({
    name: 'The client of ask-8b',
    list: 'ask-8b',
    urls,
    key,
    random: context.random,
    isChecked: true,
    restores: () => 0,
  });
  await ask.update();
  const compare = (who: string, results: readonly string[]): void => {
    const wrong = contents.flatMap((content, n) =>
      results[n] === (expected[n] === 'BLOCKED' ? 'LISTED' : 'NOT_LISTED')
        ? []
        : [`${content} is ${results[n]}, but the check says ${expected[n]}`],
    );
    if (wrong.length > 0) findings.push(`${who}: ${wrong.length} results are wrong: ${wrong[0]}`);
  };
  const byList = (list?: List): string[] =>
    contents.map((content) => check(content, { ...(list && { list }), ...(ask.held && { ask: ask.held }) }));
  for (const [n, { held }] of clients.entries()) compare(`Client ${n}`, byList(held));
  for (const [n, program] of programs.entries()) compare(`Program ${n}`, await program.check(contents));
  for (const client of [...clients, ...programs]) findings.push(...client.findings);
  findings.push(...statuses.findings);
  const killed = statuses.delays.slice(0, endOfKills);
  const slowest = Math.max(0, ...statuses.delays);
  if (percentile(quiet, 0.99) > quietP99Ms)
    findings.push(`Without kills, changes were in a version after ${percentile(quiet, 0.99)} ms (p99)`);
  if (slowest > delayMs) findings.push(`A change was in a version only after ${slowest} ms`);
  if (expected.every((status) => status !== 'BLOCKED')) findings.push('Nothing is blocked in the end');
  findings.push(...(await checkVerify(context, env)));

  const sum = (of: (client: ListClient) => number): number => clients.reduce((total, client) => total + of(client), 0);
  return {
    workload:
      `${rounds - freezes} kills and ${freezes} freezes of the process that builds, ${restores} restore, ` +
      `${statuses.acknowledged} statuses, ${clients.length + programs.length} clients, ` +
      `${programs.reduce((total, { kills }) => total + kills, 0)} times killed`,
    observed:
      `${last}; ${sum(({ updates }) => updates)} updates, all with their checksum, ` +
      `${sum(({ mismatches }) => mismatches) + programs.reduce((total, { mismatches }) => total + mismatches, 0)} whole lists ` +
      `after a mismatch, ${sum(({ refusedAsOlder }) => refusedAsOlder)} refused as older, ${sum(({ failed }) => failed)} requests failed; ` +
      `all clients agree with the check on ${contents.length} contents; in a version after ` +
      `${percentile(quiet, 0.5)} ms (p50), ${percentile(quiet, 0.99)} ms (p99) without kills and ` +
      `${percentile(killed, 0.5)} ms, ${percentile(killed, 0.99)} ms with kills, at most ${slowest} ms`,
    findings,
  };
};

export const killedBuilders: Scenario<Scale> = {
  name: 'F37',
  what: 'the process that builds local lists is killed and frozen, and their tables restored, while clients follow them',
  full: {
    rounds: 50,
    quietMs: 30_000,
    quietP99Ms: 2_000,
    delayMs: 20_000,
    clients: { atIntervals: 8, waiting: 8, programs: 4 },
  },
  run: (context, scale) => killBuilders(context, scale),
  guard: 'the name of a version has its checksum, and clients check it',
  controlScale: { rounds: 1, quietMs: 3_000, clients: { atIntervals: 8, waiting: 2, programs: 0 } },
  withoutGuard: (context, scale) => killBuilders(context, scale, preloadOf('numbers-as-versions')),
  controlFinding: /has other entries than version/,
};

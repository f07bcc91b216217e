import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { Agent } from 'node:http';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Pool as Undici } from 'undici';
import { sentThreat, stored } from '../test/support/upstream.js';
import type { Database } from './database.js';
import { requireEqual } from './equal.js';
import { formatAmount, type Bench, type Goal, measure, type Measured } from './goal.js';
import { inParallel, type Slice } from './paired.js';
import { type Child, startChild } from './process.js';
import { issueKeys, openLog, startApi, startProjector, temporaryFolder } from './services.js';
import { Delays, sendSingly, threatOf } from './single-events.js';
import { WebhookReceiver } from './webhook-receiver.js';

const PER_SECOND = 100;
const ENDPOINTS = 10;

const names = (prefix: string, count: number): string[] => Array.from({ length: count }, (_, n) => `${prefix}-${n}`);

/** The service with webhooks, and their receiver. */
interface Setup {
  readonly bench: Bench;
  readonly database: Database;
  readonly url: string;
  readonly receiver: WebhookReceiver;
  startDeliveries(): Promise<Child>;
}

const open = async (bench: Bench): Promise<Setup> => {
  const database = await bench.database();
  const keyFile = join(await temporaryFolder(bench), 'master-key');
  await writeFile(keyFile, `${randomBytes(32).toString('base64')}\n`);
  const webhooks = { WEBHOOK_MASTER_KEY_FILE: keyFile, WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };
  const { url } = await startApi(bench, database, 'src/main.js', webhooks);
  const env = await startProjector(bench, database, { ...webhooks, ACCESS_LOG: 'off' });
  const receiver = await WebhookReceiver.start(bench);
  const startDeliveries = async (): Promise<Child> => {
    const child = await startChild('src/deliver.js', [], env);
    bench.onEnd(() => child.stop());
    return child;
  };
  return { bench, database, url, receiver, startDeliveries };
};

/**
 * Creates `each` endpoints per organization that start at the beginning of the feed.
 * @returns a function that deletes them
 */
const createEndpoints = async (
  { database, url, receiver }: Setup,
  organizations: readonly string[],
  { each, batch }: { each: number; batch: number },
): Promise<() => Promise<void>> => {
  const keys = await issueKeys(database, ['read', 'write'], organizations);
  const created: { key: string; id: string }[] = [];
  const call = async (method: string, path: string, key: string, body?: object): Promise<{ id: string }> => {
    const headers = { 'x-api-key': key, 'content-type': 'application/json' };
    const response = await fetch(`${url}/v2/organization/webhooks${path}`, {
      method,
      headers,
      redirect: 'error',
      ...(body && { body: JSON.stringify(body) }),
    });
    if (!response.ok) throw new Error(`${method} webhooks returned ${response.status}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  for (const key of keys)
    for (let n = 0; n < each; n += 1) {
      const { id } = await call('POST', '', key, { url: receiver.url, batch, from: 'beginning' });
      created.push({ key, id });
    }
  return async () => {
    for (const { key, id } of created) await call('DELETE', `/${id}`, key);
  };
};

/** Appends threats to the log, and waits until the feed contains them. */
const fill = async ({ bench, database }: Setup, organizations: readonly string[], records: number): Promise<void> => {
  const log = await openLog(bench, database);
  const asset = { type: 'URL', content: 'phishing.example' };
  for (const organization of organizations)
    for (let from = 0; from < records; from += 1_000) {
      const ids = names('t', Math.min(1_000, records - from)).map((name) => `${name}-${from}`);
      const events = ids.map((id) => sentThreat(id, { organization, asset }));
      await log.appendAll(events.map(stored));
    }
  const head = await log.head();
  const text = `select from read.checkpoints where projection = 'register' and position >= $1`;
  while ((await database.pool.query(text, [head])).rowCount === 0) await sleep(50);
};

/** Measures the time from the acknowledgement of an event to its delivery to an endpoint. */
const latency = async (setup: Setup): Promise<Measured> => {
  const { bench, database, url, receiver } = setup;
  const organizations = names('receiver', ENDPOINTS);
  const deleteAll = await createEndpoints(setup, organizations, { each: 1, batch: 1 });
  const [ingest] = await issueKeys(database, ['ingest'], [undefined]);
  const deliveries = await setup.startDeliveries();
  const agent = new Agent({ keepAlive: true, maxSockets: 32 });
  const { quick } = bench.sizes;
  const [windows, seconds] = quick ? [1, 0.5] : [6, 4];
  const delays = new Delays(bench, 'G19a');
  const seen = new Map<string, number>();
  receiver.onDelivery = (body) =>
    void seen.set((JSON.parse(body.toString()) as { subject: string }).subject, performance.now());
  let n = 0;
  /** Sends events and waits for their deliveries. @returns the delay of each event, in ms */
  const sendWindow = async (count: number): Promise<number[]> => {
    const acknowledged = await sendSingly({ agent, url, key: ingest! }, { count, perSecond: PER_SECOND }, () => {
      const id = `t-${(n += 1)}`;
      return [id, threatOf(organizations[n % ENDPOINTS]!, id, n)];
    });
    for (const until = performance.now() + 30_000; performance.now() < until; await sleep(10))
      if ([...acknowledged.keys()].every((id) => seen.has(id))) break;
    requireEqual(
      'delivered events',
      [...acknowledged.keys()].sort(),
      [...acknowledged.keys()].filter((id) => seen.has(id)).sort(),
    );
    return [...acknowledged].map(([id, at]) => Math.max(0, seen.get(id)! - at));
  };
  await sendWindow(ENDPOINTS);
  for (let window = 0; window < windows!; window += 1) {
    delays.add(await sendWindow(Math.round(PER_SECOND * seconds!)));
  }
  agent.destroy();
  await deleteAll();
  await deliveries.stop();
  receiver.onDelivery = () => {};
  return {
    goal: 'G19a',
    what: `acknowledgement to delivery by ${ENDPOINTS} webhooks, ${PER_SECOND} events a second, p99`,
    against: '-',
    unit: 'ms',
    must: 300,
    aim: 120,
    more: false,
    ...delays.measured,
  };
};

interface Rate {
  readonly goal: string;
  readonly what: string;
  readonly unit: 'requests' | 'records';
  readonly must: number;
  readonly organizations: number;
  /** Endpoints per organization. */
  readonly each: number;
  readonly batch: number;
  /** Records per organization: more than can be delivered during the measurement. */
  readonly records: number;
}

/** Compares the delivery rate of a backlog with bare POST requests of the same bodies over as many connections. */
const rateOf = async (
  setup: Setup,
  { goal, what, unit, must, organizations, each, batch, records }: Rate,
): Promise<Measured> => {
  const { bench, receiver } = setup;
  const owners = names(goal.toLowerCase(), organizations);
  await fill(setup, owners, records);
  let body: Buffer = Buffer.alloc(0);
  receiver.onDelivery = (one) => void (body = one);
  const deleteAll = await createEndpoints(setup, owners, { each, batch });
  const first = receiver.records;
  const deliveries = await setup.startDeliveries();
  while (body.length === 0) await sleep(10);
  receiver.onDelivery = () => {};
  const connections = organizations * each;
  const client = new Undici(receiver.url, { connections, pipelining: 1 });
  const headers = { 'content-type': 'application/cloudevents-batch+json' };
  const bare = inParallel(connections, async () => {
    const response = await client.request({ method: 'POST', path: '/', headers, body });
    await response.body.dump();
  });
  const delivered: Slice = async (ms) => {
    deliveries.process.kill('SIGCONT');
    const [from, countBefore] = [performance.now(), receiver[unit]];
    await sleep(ms);
    const rate = ((receiver[unit] - countBefore) * 1_000) / (performance.now() - from);
    deliveries.process.kill('SIGSTOP');
    return rate;
  };
  let sentByPeer = 0;
  const base: Slice = async (ms) => {
    const before = receiver.records;
    const rate = await bare(ms);
    sentByPeer += receiver.records - before;
    return unit === 'records' ? rate * batch : rate;
  };
  // The delivery process is stopped while the peer is measured.
  deliveries.process.kill('SIGSTOP');
  const { target, base: peer, ratio } = await measure(bench, goal, { base, target: delivered });
  if (receiver.records - first - sentByPeer >= connections * records)
    throw new Error(`${goal}: everything was delivered before the end of the measurement`);
  deliveries.process.kill('SIGCONT');
  await client.destroy();
  await deleteAll();
  await deliveries.stop();
  return {
    goal,
    what,
    against: 'bare POST requests of undici',
    measured: target,
    unit: `${unit}/s`,
    must,
    note: `${formatAmount(target.median)} against ${formatAmount(peer.median)} per second: ratio ${ratio.median.toPrecision(2)}`,
  };
};

/** Measures the latency and the rate of webhook deliveries. */
export const webhooks: Goal = {
  name: 'G19',
  run: async (bench) => {
    const setup = await open(bench);
    const { quick } = bench.sizes;
    const lines = [await latency(setup)];
    lines.push(
      await rateOf(setup, {
        goal: 'G19b',
        what: 'requests to 64 webhooks of 8 organizations with a backlog',
        unit: 'requests',
        must: 200,
        organizations: 8,
        each: 8,
        batch: 1,
        records: quick ? 100 : 1_000,
      }),
      await rateOf(setup, {
        goal: 'G19c',
        what: 'records in batches of 100 to 10 webhooks of 2 organizations with a backlog',
        unit: 'records',
        must: 5_000,
        organizations: 2,
        each: 5,
        batch: 100,
        records: quick ? 5_000 : 60_000,
      }),
    );
    return lines;
  },
};

import { Agent, request as sendHttp } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { eventually } from '../../test/support/eventually.js';
import { cloudEvent, sentStatus } from '../../test/support/upstream.js';
import type { Outcome, Scenario } from '../scenario.js';
import { withBystanders } from '../rig/bystanders.js';
import { waitUntilCounted } from '../rig/check.js';
import { percentile, sendRequest } from '../rig/http-request.js';
import { preloadOf } from '../rig/processes.js';
import type { RunContext } from '../rig/run-context.js';
import { type RunningService, startAttackTarget } from '../rig/shared-services.js';
import { Statuses } from '../rig/statuses.js';
import { WaitingCrowd } from '../rig/waiting-crowd.js';

interface Scale {
  /** The entries of the list. */
  readonly entries: number;
  /** How many requests of one key wait. The service accepts 10,000. */
  readonly waiting: number;
  /** How many requests of another key wait too. The service accepts 12,000 in all. */
  readonly others: number;
  readonly wholeListsPerSecond: number;
  readonly seconds: number;
  /** How soon all clients that wait must have a change, in ms. */
  readonly changeMs: number;
  /** The resident bytes of the API process for each client that waits. */
  readonly bytesPerClient: number;
}

const BATCH = 1_000;
/** The connections over which whole lists are requested. */
const CONNECTIONS = 8;
const LIST = '/v2/lists/all-8b';
const MAX_WAIT_MS = 120_000;

const statusOf = (content: string): object => {
  const createdAt = new Date().toISOString();
  return cloudEvent(sentStatus(content, { asset: { type: 'URL', content }, createdAt }, content));
};

const send = async ({ url, upstreamKey }: RunningService, contents: readonly string[]): Promise<void> => {
  const { status, body } = await sendRequest(`${url}/v2/events`, { key: upstreamKey, events: contents.map(statusOf) });
  if (status !== 200) throw new Error(`Statuses got ${status}: ${JSON.stringify(body)}`);
};

/** Requests whole lists at a steady rate, and reads them without keeping them. */
const requestWholeLists = async (url: string, key: string, { wholeListsPerSecond, seconds }: Scale) => {
  const [statuses, agent] = [new Statuses(), new Agent({ keepAlive: true, maxSockets: CONNECTIONS })];
  let bytes = 0;
  const startedAt = performance.now();
  const endsAt = startedAt + seconds * 1_000;
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const headers = { 'x-api-key': key, 'accept-encoding': 'gzip' };
      const sent = sendHttp(`${url}${LIST}`, { agent, headers }, (response) => {
        response.on('data', (data: Buffer) => (bytes += data.length));
        response.on('error', () => resolve());
        response.on('end', () => {
          statuses.add(response.statusCode!, response.headers);
          resolve();
        });
      });
      sent.on('error', () => {
        statuses.add(0);
        resolve();
      });
      sent.end();
    });
  const lane = async (first: number): Promise<void> => {
    for (let n = first; performance.now() < endsAt; n += CONNECTIONS) {
      const dueAt = startedAt + (n / wholeListsPerSecond) * 1_000;
      if (dueAt > performance.now()) await sleep(dueAt - performance.now());
      await one();
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, n) => lane(n)));
  agent.destroy();
  return { statuses, bytes, perSecond: statuses.countOf(200) / ((performance.now() - startedAt) / 1_000) };
};

/** Sends one request that would wait. @returns its status if it is answered at once, otherwise `waits` */
const tryToWait = async (url: string, key: string, version: string): Promise<number | 'waits'> => {
  const agent = new Agent();
  try {
    const options = { key, headers: { prefer: 'wait=25' }, agent, timeoutMs: 2_000 };
    return (await sendRequest(`${url}${LIST}?since=${version}`, options)).status;
  } catch {
    return 'waits';
  } finally {
    agent.destroy();
  }
};

const crowdTogether = async (context: RunContext, scale: Scale, preload = 'report-resources'): Promise<Outcome> => {
  const { entries, waiting, others, changeMs, bytesPerClient } = scale;
  const target = await startAttackTarget(context, { env: { LISTS: 'on' }, preload: preloadOf(preload) });
  const { url, log } = target;
  const key = (await issueApiKey(log, { scopes: ['lists'] })).key;
  const otherKey = (await issueApiKey(log, { scopes: ['lists'] })).key;
  const thirdKey = (await issueApiKey(log, { scopes: ['lists'] })).key;
  for (let n = 0; n < entries; n += BATCH)
    await send(
      target,
      Array.from({ length: Math.min(BATCH, entries - n) }, (_, m) => `entry-${n + m}.example`),
    );
  await waitUntilCounted(url, MAX_WAIT_MS);
  const described = async (): Promise<{ version: string; entries: number }> =>
    (await sendRequest(`${url}/v2/lists`, { key: otherKey })).body[0] ?? { version: '', entries: 0 };
  await eventually('the list has all entries', async () => (await described()).entries === entries, MAX_WAIT_MS);

  const findings: string[] = [];
  const seen: string[] = [];
  const crowd = new WaitingCrowd(url, key);
  const outcome = await withBystanders(context, target, async () => {
    try {
      const { version } = await described();
      const before = await target.measureResources();
      context.reportProgress(`opening ${waiting} connections`);
      await crowd.add(waiting, version);
      // A request is refused once all the others wait. A client that asks again may leave its place for a moment.
      let refused: number | 'waits' = 'waits';
      for (let n = 0; n < 20 && refused === 'waits'; n += 1) refused = await tryToWait(url, key, version);
      if (refused !== 429) findings.push(`A request beyond ${waiting} of one key got: ${refused}`);
      const ofOther = await tryToWait(url, otherKey, version);
      if (ofOther !== 'waits') findings.push(`A request of another key got ${ofOther} instead of waiting`);
      const during = await target.measureResources();
      const each = (during.rss - before.rss) / waiting;
      if (each > bytesPerClient) findings.push(`Each client that waits takes ${Math.round(each)} resident bytes`);
      seen.push(
        `${Math.round(each)} resident bytes and ${Math.round((during.memory - before.memory) / waiting)} bytes of heap for each client`,
      );
      const rest = new WaitingCrowd(url, otherKey);
      await rest.add(others, version);
      let refusedInAll: number | 'waits' = 'waits';
      for (let n = 0; n < 20 && refusedInAll === 'waits'; n += 1)
        refusedInAll = await tryToWait(url, thirdKey, version);
      if (refusedInAll !== 503) findings.push(`A request beyond ${waiting + others} in all got: ${refusedInAll}`);
      await rest.close();

      context.reportProgress('waking all');
      await send(target, ['change.example']);
      const acknowledgedAt = performance.now();
      let delays: number[] | undefined;
      while (delays === undefined && performance.now() - acknowledgedAt < MAX_WAIT_MS) {
        await sleep(20);
        delays = crowd.changedSince(version, acknowledgedAt);
      }
      const slowest = Math.max(...(delays ?? [Infinity]));
      if (slowest > changeMs) findings.push(`The last client had the change after ${slowest} ms`);
      seen.push(
        `all ${waiting} had a change after ${Math.round(slowest)} ms (p50: ${Math.round(percentile(delays ?? [], 0.5))})`,
      );
      context.reportProgress('whole lists');
      const { statuses, bytes, perSecond } = await requestWholeLists(url, key, scale);
      seen.push(`${Math.round(perSecond)} whole lists a second of ${Math.round(bytes / statuses.countOf(200))} bytes`);
      findings.push(...statuses.check(200), ...crowd.statuses.check(200, 429), ...crowd.findings.slice(0, 3));
      seen.push(`the clients got ${crowd.statuses}`);
      const most = await target.measureResources();
      seen.push(`${Math.round(most.rss / 2 ** 20)} MiB resident`);
    } finally {
      await crowd.close();
    }
  });
  return {
    workload:
      `${waiting} clients of one key that wait, ${others} of another; whole lists of ${entries} entries over ` +
      `${CONNECTIONS} connections of one key for ${scale.seconds} s`,
    observed: `${seen.join('; ')}; ${outcome.observed}`,
    findings: [...findings, ...outcome.findings],
  };
};

export const manyListClients: Scenario<Scale> = {
  name: 'F38',
  what: 'thousands of clients of one key wait for a change of a local list, and the key requests whole lists at full rate',
  full: {
    entries: 50_000,
    waiting: 10_000,
    others: 2_000,
    wholeListsPerSecond: 1_000,
    seconds: 20,
    changeMs: 10_000,
    bytesPerClient: 40_000,
  },
  run: (context, scale) => crowdTogether(context, scale),
  guard: 'each response is made once and shared by the requests for it',
  controlScale: { waiting: 200, others: 0, seconds: 10 },
  withoutGuard: (context, scale) => crowdTogether(context, scale, 'own-list-bodies'),
  controlFinding: /^The p99 of other organizations is/,
};

/**
 * The thread of `bystanders.ts`. It sends requests at a steady rate until it is stopped, and then reports the results.
 */
import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { sendRequest } from './http-request.js';
import { Prober, type ProbeResult } from './probe.js';
import { cloudEvent, sentReport } from '../../test/support/upstream.js';

interface Input {
  readonly url: string;
  readonly upstreamKey: string;
  readonly organizations: readonly string[];
  readonly keys: readonly string[];
}

const { url, upstreamKey, organizations, keys } = workerData as Input;
const run = Date.now();
const report = (organization: string, n: number): object => {
  const reportId = `${organization}-${run}-${n}`;
  return cloudEvent(sentReport(reportId, { organization }, reportId));
};
// Attackers use 127.0.0.1. On Linux every address of 127.0.0.0/8 is a loopback address.
const newAgent = (): Agent =>
  new Agent({ keepAlive: true, maxSockets: 64, ...(process.platform === 'linux' && { localAddress: '127.0.0.2' }) });
// Not the agent of the prober, because the prober closes its connections when it stops.
const agent = newAgent();

const prober = new Prober(
  [
    { what: 'metrics', url: () => `${url}/v2/organization/metrics`, key: keys[0], everyMs: 50 },
    { what: 'groups', url: () => `${url}/v2/organization/asset-groups`, key: keys[1], everyMs: 50 },
    {
      what: 'check',
      url: () => `${url}/v2/asset/check`,
      key: keys[0],
      each: (n) => ({ json: { content: `site-${n}.example` } }),
      everyMs: 50,
    },
    {
      what: 'events',
      url: () => `${url}/v2/events`,
      key: upstreamKey,
      each: (n) => ({ events: [report(organizations[2]!, n)] }),
      everyMs: 100,
    },
    // Without a key, an address may send 600 requests a minute.
    { what: 'live', url: () => `${url}/health/live`, everyMs: 200 },
  ],
  newAgent(),
);

const MAX_UNCOUNTED_MS = 60_000;
const counts: ProbeResult[] = [];
let isOver = false;

/** Repeatedly measures the time from the acknowledgement of an event until it is counted. */
const watchCounts = async (): Promise<void> => {
  const organization = organizations[1]!;
  const reports = async (): Promise<number> =>
    (await sendRequest(`${url}/v2/organization/metrics`, { key: keys[1], agent })).body.metrics?.reports ?? 0;
  const first = await reports();
  for (let n = 1; !isOver; n += 1) {
    await sendRequest(`${url}/v2/events`, { key: upstreamKey, events: [report(organization, n)], agent });
    const at = Date.now();
    let isCounted = false;
    while (!isCounted && Date.now() - at < MAX_UNCOUNTED_MS) {
      isCounted = (await reports()) >= first + n;
      if (!isCounted) await sleep(10);
    }
    counts.push({ what: 'counted', at, ms: Date.now() - at, status: isCounted ? 200 : 0 });
    await sleep(100);
  }
};

const watching = watchCounts().catch((error: Error) => {
  counts.push({ what: 'counted', at: Date.now(), ms: MAX_UNCOUNTED_MS, status: 0, error: error.message });
});

const finish = async (): Promise<void> => {
  isOver = true;
  const [results] = await Promise.all([prober.stop(), watching]);
  agent.destroy();
  parentPort!.postMessage(
    [...results, ...counts].map(({ what, at, ms, status, error }) => ({ what, at, ms, status, error })),
  );
};

parentPort!.once('message', () => void finish());

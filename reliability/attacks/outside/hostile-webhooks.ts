import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Outcome, Scenario } from '../../scenario.js';
import { percentile } from '../../rig/http-request.js';
import { builtUrl, Process } from '../../rig/processes.js';
import type { RunContext } from '../../rig/run-context.js';
import { MB, watchPeak } from '../../rig/memory-reports.js';
import { eventually } from '../../../test/support/eventually.js';
import { answering, Receiver, subjectsIn } from '../../../test/support/receiver.js';
import { Rig } from '../../../test/support/delivery-rig.js';
import { measureResources } from '../../rig/target.js';

interface Scale {
  /** The number of attacking organizations, each with the maximum number of endpoints. */
  readonly attackers: number;
  readonly quietMs: number;
  readonly attackMs: number;
  /** The timeout of deliveries. */
  readonly timeoutMs: number;
  /** The maximum ratio of the p99 of the others during the attack to their p99 before it. */
  readonly factor: number;
  /** A p99 below this is never a finding, in ms. */
  readonly floorMs: number;
}

/** Harmless organizations with one endpoint each, and their total number of records per second. */
const OTHERS = 10;
const PER_SECOND = 50;
const ENDPOINTS = 10;
const RECORDS = 30;
/** In-flight requests, and connections that stay open for 2 s. */
const SLACK_DESCRIPTORS = 64 + OTHERS + 20;
const SLACK_MEMORY = 24 * MB;
/** Discarded response bytes remain in memory until they are collected. */
const SLACK_RSS = 96 * MB;

/** The deliveries to the other organizations. */
class Others {
  private readonly receiver = new Receiver();
  /** The time of each delivery by record. */
  private readonly acknowledged = new Map<string, number>();
  private readonly received = new Map<string, number>();
  readonly disorders: string[] = [];
  private created = 0;
  url = '';

  constructor(private readonly rig: Rig) {}

  async start(): Promise<void> {
    this.url = await this.receiver.start();
    const newest = new Map<string, number>();
    this.receiver.react = (one, response, request) => {
      const now = performance.now();
      for (const subject of subjectsIn(one.body)) {
        if (!this.received.has(subject)) this.received.set(subject, now);
        const n = Number(subject.split('-')[1]);
        if (n <= (newest.get(one.path) ?? -1)) this.disorders.push(subject);
        newest.set(one.path, n);
      }
      answering(204)(one, response, request);
    };
    const endpoints = Array.from({ length: OTHERS }, (_, n) =>
      this.rig.endpoint(`${this.url}/${n}`, { organization: `other${n}` }),
    );
    await Promise.all(endpoints);
  }

  /** Creates records at a steady rate. @returns the times from acknowledgement to delivery in ms */
  async sendRecords(ms: number, timeoutMs: number): Promise<number[]> {
    const from = performance.now();
    const names: string[] = [];
    const adding: Promise<void>[] = [];
    for (let n = 0; performance.now() - from < ms; n += 1) {
      const expected = from + (n * 1_000) / PER_SECOND;
      await sleep(Math.max(0, expected - performance.now()));
      const name = `n-${this.created}`;
      const organization = `other${this.created % OTHERS}`;
      this.created += 1;
      names.push(name);
      adding.push(this.rig.block([name], organization).then(() => void this.acknowledged.set(name, performance.now())));
    }
    await Promise.all(adding);
    // Missing deliveries are reported below.
    await eventually('all arrives', () => names.every((name) => this.received.has(name)), timeoutMs).catch(() => {});
    const end = performance.now();
    return names.map((name) => Math.max(0, (this.received.get(name) ?? end) - this.acknowledged.get(name)!));
  }

  get missing(): number {
    return this.created - this.received.size;
  }

  /** Requests for unknown endpoints. */
  get strays(): number {
    return this.receiver.received.filter(({ path }) => path === '/elsewhere').length;
  }

  stop(): Promise<void> {
    return this.receiver.stop();
  }
}

const descriptorsOf = ({ pid }: Process): number =>
  process.platform === 'linux' ? readdirSync(`/proc/${pid}/fd`).length : 0;

const attack = async (
  context: RunContext,
  scale: Scale,
  preload = 'reliability/rig/preload/report-resources',
): Promise<Outcome> => {
  const { attackers, quietMs, attackMs, timeoutMs, factor, floorMs } = scale;
  const rig = await Rig.start();
  context.onEnd(() => rig.end());
  const others = new Others(rig);
  await others.start();
  context.onEnd(() => others.stop());
  const reportFolder = await context.folder();
  const env = {
    DATABASE_URL: rig.database.url,
    WEBHOOK_MASTER_KEY_FILE: rig.keyFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    RESOURCE_REPORTS: reportFolder,
  };
  const deliveries = Process.start(context, 'src/deliver', env, { preload: builtUrl(preload) });
  // Warms up, because the first requests are slower.
  await others.sendRecords(1_000, 20_000);
  const quiet = await others.sendRecords(quietMs, timeoutMs);
  const before = await measureResources(deliveries, reportFolder);

  const hostile = new Worker(new URL(builtUrl('reliability/rig/hostile-receivers')), {
    workerData: { elsewhere: `${others.url}/elsewhere` },
  });
  context.onEnd(() => hostile.terminate());
  const [{ url, behaviours }] = (await once(hostile, 'message')) as [{ url: string; behaviours: string[] }];
  const peakOf = watchPeak(() => descriptorsOf(deliveries));
  const organizations = Array.from({ length: attackers }, (_, n) => `attacker${n}`);
  const records = Array.from({ length: RECORDS }, (_, n) => `r${n}`);
  for (const [n, organization] of organizations.entries()) {
    await rig.block(records, organization);
    const endpoints = Array.from({ length: ENDPOINTS }, (_, k) =>
      rig.endpoint(`${url}/${behaviours[(n + k) % behaviours.length]}`, { organization }),
    );
    await Promise.all(endpoints);
  }
  context.reportProgress(`${attackers * ENDPOINTS} hostile endpoints`);
  const during = await others.sendRecords(attackMs, timeoutMs);
  const additionalDescriptors = peakOf() - before.descriptors;
  hostile.postMessage('stop');
  const [requestsByMisbehaviour] = (await once(hostile, 'message')) as [Record<string, number>];
  let after = await measureResources(deliveries, reportFolder);
  for (const until = Date.now() + 10_000; Date.now() < until && after.descriptors > before.descriptors + 20;) {
    await sleep(250);
    after = await measureResources(deliveries, reportFolder);
  }
  const [attackP99, quietP99] = [percentile(during, 0.99), percentile(quiet, 0.99)];
  const growth = { memory: after.memory - before.memory, rss: after.rss - before.rss };
  const unusedMisbehaviours = behaviours.filter((way) => requestsByMisbehaviour[way] === undefined);
  const findings = [
    ...(attackP99 > Math.max(floorMs, factor * quietP99)
      ? [`The p99 of the others is ${Math.round(attackP99)} ms; before the attack it was ${Math.round(quietP99)} ms`]
      : []),
    ...(others.missing > 0 ? [`${others.missing} records of the others did not arrive`] : []),
    ...(others.disorders.length > 0 ? [`${others.disorders[0]} of the others arrived twice or out of order`] : []),
    ...(others.strays > 0 ? [`A redirect was followed ${others.strays} times`] : []),
    ...(unusedMisbehaviours.length > 0
      ? [`No request reached the receivers that misbehave like this: ${unusedMisbehaviours.join(', ')}`]
      : []),
    ...(additionalDescriptors > SLACK_DESCRIPTORS
      ? [`The delivery process held ${additionalDescriptors} descriptors more`]
      : []),
    ...(after.descriptors > before.descriptors + 20
      ? [`The delivery process still holds ${after.descriptors - before.descriptors} descriptors more`]
      : []),
    ...(growth.memory > SLACK_MEMORY || growth.rss > SLACK_RSS
      ? [`The delivery process still holds ${growth.memory} bytes more, ${growth.rss} resident`]
      : []),
    ...(deliveries.isRunning ? [] : [`The delivery process has ended with ${deliveries.exitCode}`]),
  ];
  return {
    workload: `${attackers * ENDPOINTS} endpoints of ${attackers} organizations that misbehave in ${behaviours.length} ways for ${attackMs / 1000} s`,
    observed:
      `p99 of ${OTHERS} others from acknowledgement to delivery ${Math.round(attackP99)} ms (before: ${Math.round(quietP99)}), ` +
      `p50 ${Math.round(percentile(during, 0.5))} (${Math.round(percentile(quiet, 0.5))}); ` +
      `at most ${additionalDescriptors} descriptors more, in the end ${Math.round(growth.memory / MB)} MB; ` +
      `${Object.values(requestsByMisbehaviour).reduce((sum, times) => sum + times, 0)} requests to attackers, no redirect followed`,
    findings,
  };
};

export const hostileWebhooks: Scenario<Scale> = {
  name: 'S34',
  what: 'webhook receivers hang, respond byte by byte, send large bodies, reset, redirect and fail',
  asvs: {
    '15.4.4': 'Safe Concurrency',
    '13.1.3': 'Configuration Documentation',
    '13.2.5': 'Backend Communication Configuration',
  },
  full: { attackers: 20, quietMs: 30_000, attackMs: 60_000, timeoutMs: 20_000, factor: 1.2, floorMs: 0 },
  run: (context, scale) => attack(context, scale),
  guard: 'half of the delivery slots are reserved for endpoints that respond fast',
  withoutGuard: (context, scale) => attack(context, scale, 'reliability/rig/preload/any-slot'),
};

import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import type { Outcome, Scenario } from '../../scenario.js';
import { percentile } from '../../rig/ask.js';
import { builtUrl, Process } from '../../rig/processes.js';
import type { Scene } from '../../rig/scene.js';
import { MB, watchPeak } from '../../rig/watched.js';
import { eventually } from '../../../test/support/eventually.js';
import { answering, Receiver, subjectsIn } from '../../../test/webhooks/delivery/receiver.js';
import { Rig } from '../../../test/webhooks/delivery/rig.js';
import { weigh } from '../../rig/target.js';

interface Dose {
  /** Organizations of attackers, each with as many endpoints as it may have. */
  readonly attackers: number;
  readonly quietMs: number;
  readonly attackMs: number;
  /** How long what is due may take. ms */
  readonly timeoutMs: number;
  /** How much slower than quiet the others may become, at the 99th percentile. */
  readonly factor: number;
  /** What is faster than this nobody calls slow. ms */
  readonly floorMs: number;
}

/** Organizations that do no harm, with an endpoint each, and what they are told a second together. */
const OTHERS = 10;
const PER_SECOND = 50;
const ENDPOINTS = 10;
const RECORDS = 30;
/** Requests in flight, and connections that are kept open after one for 2 s. */
const SLACK_DESCRIPTORS = 64 + OTHERS + 20;
const SLACK_MEMORY = 24 * MB;
/** Bytes of answers that are read and thrown away are garbage for a while. */
const SLACK_RSS = 96 * MB;

/** What the others are told, and when. */
class Others {
  private readonly receiver = new Receiver();
  /** By record, ms. */
  private readonly acknowledged = new Map<string, number>();
  private readonly received = new Map<string, number>();
  readonly disorders: string[] = [];
  private told = 0;
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

  /** Tells them of records at a steady rate. @returns how long each took from its acknowledgement, ms */
  async tell(ms: number, timeoutMs: number): Promise<number[]> {
    const from = performance.now();
    const names: string[] = [];
    const adding: Promise<void>[] = [];
    for (let n = 0; performance.now() - from < ms; n += 1) {
      const due = from + (n * 1_000) / PER_SECOND;
      await sleep(Math.max(0, due - performance.now()));
      const name = `n-${this.told}`;
      const organization = `other${this.told % OTHERS}`;
      this.told += 1;
      names.push(name);
      adding.push(this.rig.block([name], organization).then(() => void this.acknowledged.set(name, performance.now())));
    }
    await Promise.all(adding);
    // What is missing is found below.
    await eventually('all arrives', () => names.every((name) => this.received.has(name)), timeoutMs).catch(() => {});
    const end = performance.now();
    return names.map((name) => Math.max(0, (this.received.get(name) ?? end) - this.acknowledged.get(name)!));
  }

  get missing(): number {
    return this.told - this.received.size;
  }

  /** Requests that came for nobody. */
  get strays(): number {
    return this.receiver.received.filter(({ path }) => path === '/elsewhere').length;
  }

  stop(): Promise<void> {
    return this.receiver.stop();
  }
}

const descriptorsOf = ({ pid }: Process): number =>
  process.platform === 'linux' ? readdirSync(`/proc/${pid}/fd`).length : 0;

const attack = async (scene: Scene, dose: Dose, preload = 'reliability/rig/preload/weigh'): Promise<Outcome> => {
  const { attackers, quietMs, attackMs, timeoutMs, factor, floorMs } = dose;
  const rig = await Rig.start();
  scene.later(() => rig.end());
  const others = new Others(rig);
  await others.start();
  scene.later(() => others.stop());
  const weights = await scene.folder();
  const env = {
    DATABASE_URL: rig.database.url,
    WEBHOOK_MASTER_KEY_FILE: rig.keyFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEIGHTS: weights,
  };
  const deliveries = Process.start(scene, 'src/deliver', env, { preload: builtUrl(preload) });
  // The first requests are slower than all that follow.
  await others.tell(1_000, 20_000);
  const quiet = await others.tell(quietMs, timeoutMs);
  const before = await weigh(deliveries, weights);

  const hostile = new Worker(new URL(builtUrl('reliability/rig/hostile-receivers')), {
    workerData: { elsewhere: `${others.url}/elsewhere` },
  });
  scene.later(() => hostile.terminate());
  const [{ url, ways }] = (await once(hostile, 'message')) as [{ url: string; ways: string[] }];
  const peakOf = watchPeak(() => descriptorsOf(deliveries));
  const organizations = Array.from({ length: attackers }, (_, n) => `attacker${n}`);
  const records = Array.from({ length: RECORDS }, (_, n) => `r${n}`);
  for (const [n, organization] of organizations.entries()) {
    await rig.block(records, organization);
    const endpoints = Array.from({ length: ENDPOINTS }, (_, k) =>
      rig.endpoint(`${url}/${ways[(n + k) % ways.length]}`, { organization }),
    );
    await Promise.all(endpoints);
  }
  scene.tell(`${attackers * ENDPOINTS} hostile endpoints`);
  const during = await others.tell(attackMs, timeoutMs);
  const most = peakOf() - before.descriptors;
  hostile.postMessage('stop');
  const [asked] = (await once(hostile, 'message')) as [Record<string, number>];
  let after = await weigh(deliveries, weights);
  for (const until = Date.now() + 10_000; Date.now() < until && after.descriptors > before.descriptors + 20;) {
    await sleep(250);
    after = await weigh(deliveries, weights);
  }
  const [slow, usual] = [percentile(during, 0.99), percentile(quiet, 0.99)];
  const more = { memory: after.memory - before.memory, rss: after.rss - before.rss };
  const never = ways.filter((way) => asked[way] === undefined);
  const findings = [
    ...(slow > Math.max(floorMs, factor * usual)
      ? [`p99 of the others is ${Math.round(slow)} ms, quiet ${Math.round(usual)} ms`]
      : []),
    ...(others.missing > 0 ? [`${others.missing} records of the others did not arrive`] : []),
    ...(others.disorders.length > 0 ? [`${others.disorders[0]} of the others came twice or out of order`] : []),
    ...(others.strays > 0 ? [`A redirect was followed ${others.strays} times`] : []),
    ...(never.length > 0 ? [`Nobody was sent to ${never.join(', ')}`] : []),
    ...(most > SLACK_DESCRIPTORS ? [`The deliveries held ${most} descriptors more`] : []),
    ...(after.descriptors > before.descriptors + 20
      ? [`The deliveries still hold ${after.descriptors - before.descriptors} descriptors more`]
      : []),
    ...(more.memory > SLACK_MEMORY || more.rss > SLACK_RSS
      ? [`The deliveries still hold ${more.memory} bytes more, ${more.rss} resident`]
      : []),
    ...(deliveries.isRunning ? [] : [`The deliveries have ended with ${deliveries.exitCode}`]),
  ];
  return {
    dose: `${attackers * ENDPOINTS} endpoints of ${attackers} organizations that misbehave in ${ways.length} ways for ${attackMs / 1000} s`,
    seen:
      `p99 of ${OTHERS} others from acknowledged to received ${Math.round(slow)} ms (quiet ${Math.round(usual)}), ` +
      `half within ${Math.round(percentile(during, 0.5))} (${Math.round(percentile(quiet, 0.5))}); ` +
      `at most ${most} descriptors more, in the end ${Math.round(more.memory / MB)} MB; ` +
      `${Object.values(asked).reduce((sum, times) => sum + times, 0)} requests to attackers, no redirect followed`,
    findings,
  };
};

export const hostileWebhooks: Scenario<Dose> = {
  name: 'S34',
  what: 'receivers of webhooks hang, drip, flood, reset, redirect, fail',
  asvs: {
    '15.4.4': 'Safe Concurrency',
    '13.1.3': 'Configuration Documentation',
    '13.2.5': 'Backend Communication Configuration',
  },
  full: { attackers: 20, quietMs: 30_000, attackMs: 60_000, timeoutMs: 20_000, factor: 1.2, floorMs: 0 },
  run: (scene, dose) => attack(scene, dose),
  guard: 'half of the requests in flight are kept for endpoints that answer soon',
  without: (scene, dose) => attack(scene, dose, 'reliability/rig/preload/any-slot'),
};

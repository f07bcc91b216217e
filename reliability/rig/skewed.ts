import { setTimeout as sleep } from 'node:timers/promises';
import { issueApiKey } from '../../src/api-keys/api-keys.js';
import { eventually } from '../../test/support/eventually.js';
import { cloudEvent, sentReport, sentStatus } from '../../test/support/upstream.js';
import { answering, Receiver, subjectsIn } from '../../test/support/receiver.js';
import { sendRequest } from './http-request.js';
import { FakeClock, removeSharedMemoryAfter } from './fake-clock.js';
import { issueKeys, type Keys, waitUntilKeysKnown } from './keys.js';
import { openLog } from './running-service.js';
import { type Environment, Process } from './processes.js';
import { metricsPath, Readers } from './readers.js';
import { DAY, numberOf, Reports } from './reports.js';
import type { RunContext } from './run-context.js';
import { webhookSettings } from './webhook.js';

/** The processes with a fake clock. The second API process keeps the right time. */
export const SKEWABLE = ['api', 'projector', 'deliveries'] as const;
export type Skewable = (typeof SKEWABLE)[number];

/** The aspects that are checked separately. */
export const ASPECTS = ['X-As-Of', 'tokens', '429', 'liveness', 'usage and quota', 'webhook tests', 'retries'] as const;
export type Aspect = (typeof ASPECTS)[number];

const PROGRAMS = { api: 'src/main', projector: 'projections/main', deliveries: 'src/deliver' } as const;
/** The organizations that send events, each through a different API process. */
const SENDING = ['acme', 'globex'] as const;
/** Events per second of each sending organization. */
const RATE = 300;
/** The organization with the webhook that is checked. */
const WATCHED = 'watched';
/** The organization with the daily quota that is checked. */
const METERED = 'metered';
export const QUOTA = 10_000;
const LIVE_EVERY_MS = 200;
const TOKEN_EVERY_MS = 60;
const WATCHED_EVERY_MS = 250;
const READY_WITHIN_MS = 60_000;
/** How long a webhook test may take; the API waits for up to 22 s. */
const TEST_WITHIN_MS = 10_000;
/** The first retry delay is 5 s ± 20 %. */
const RETRY_AT_LEAST_MS = 3_900;
const RETRY_AT_MOST_MS = 12_000;
/** A 429 is wrong if the backlog of the projector is smaller than this. */
const MIN_BACKLOG_FOR_429 = 400;

export interface Finding {
  readonly aspect: Aspect;
  /** In ms since 1970. */
  readonly at: number;
  readonly what: string;
}

interface Delivery {
  readonly at: number;
  readonly subject: string;
}

/**
 * Returns whether a busy process rejected the request. A 429 of a rate limit is not included, because a wrong clock may
 * have caused it.
 */
const isOverloaded = (status: number, message: string): boolean =>
  status === 503 || (status === 429 && message.includes('of this organization are waiting'));

const worksInAllLanes = async ({ opsUrl }: Process): Promise<boolean> => {
  const request = sendRequest(`${opsUrl}/health/ready`, { timeoutMs: 3_000 });
  const { body } = await request.catch(() => ({ body: undefined }));
  const lanes = Object.values<string>(body?.parts?.lanes?.detail ?? {});
  return lanes.length > 0 && lanes.every((state) => state === 'working');
};

/**
 * Two API processes, a projector and a delivery process under load. All have fake clocks, except the second API
 * process, whose clock is right.
 */
export class Skewed {
  readonly findings: Finding[] = [];
  tokenReads = 0;
  tokenReadsRejected = 0;
  readsRejected = 0;
  readonly loads: readonly Reports[];
  private readonly running = new Map<Skewable, Process>();
  private readonly stopping = new AbortController();
  private readonly work: Promise<unknown>[] = [];
  private readers: readonly Readers[] = [];
  private readonly backlogs: { at: number; facts: number }[] = [];
  private readonly receiver = new Receiver();
  private readonly deliveries: Delivery[] = [];
  private failNext = false;
  private failed: Delivery | undefined;
  private meteredKey = '';
  private meteredEventCount = 0;
  private webhookId = '';
  private watched!: Reports;

  private constructor(
    private readonly context: RunContext,
    readonly keys: Keys,
    private readonly env: Environment,
    private readonly clocks: Readonly<Record<Skewable, FakeClock>>,
    /** A module that the projector loads. */
    private readonly preload: string | undefined,
    private unskewed: Process,
  ) {
    const urls = [() => this.url, () => this.unskewed.url!];
    this.loads = SENDING.map((organization, n) => new Reports(urls[n]!, keys.ingest, organization));
  }

  static async start(context: RunContext, databaseUrl: string, preload?: string): Promise<Skewed> {
    const folder = await context.folder();
    const env = {
      DATABASE_URL: databaseUrl,
      MIGRATE_ON_START: 'false',
      INGEST_EVENTS_PER_DAY: String(QUOTA),
      ...(await webhookSettings(folder)),
    };
    const log = await openLog(context, { DATABASE_URL: databaseUrl });
    const keys = await issueKeys(log, [...SENDING, WATCHED, METERED]);
    const { key } = await issueApiKey(log, { scopes: ['ingest'], organization: METERED });
    const clocks = {
      api: await FakeClock.create(folder, 'api'),
      projector: await FakeClock.create(folder, 'projector'),
      deliveries: await FakeClock.create(folder, 'deliveries'),
    };
    const unskewed = Process.start(context, 'src/main', env);
    const skewed = new Skewed(context, keys, env, clocks, preload, unskewed);
    skewed.meteredKey = key;
    for (const name of SKEWABLE) await skewed.replace(name);
    await eventually('the second API listens', () => unskewed.url !== undefined);
    for (const url of [skewed.url, unskewed.url!]) await waitUntilKeysKnown(url, keys);
    await skewed.begin();
    return skewed;
  }

  get url(): string {
    return this.running.get('api')!.url!;
  }

  get environment(): Environment {
    return this.env;
  }

  get unskewedUrl(): string {
    return this.unskewed.url!;
  }

  get processes(): readonly Process[] {
    return [this.unskewed, ...this.running.values()];
  }

  setClock(name: Skewable, offsetMs: number): Promise<void> {
    return this.clocks[name].set(offsetMs);
  }

  /** Starts a process with the current fake clock, and stops the previous process once the new process is ready. */
  async replace(name: Skewable): Promise<void> {
    const before = this.running.get(name);
    const env = { ...this.env, ...this.clocks[name].env, ...(name === 'api' ? {} : { OPS_PORT: '0' }) };
    const preload = name === 'projector' ? this.preload : undefined;
    const process = Process.start(this.context, PROGRAMS[name], env, { preload });
    removeSharedMemoryAfter(process);
    await eventually(
      `${name} is ready`,
      async () => {
        if (!process.isRunning) throw new Error(`${name} ended: ${process.lines.slice(-5).join('\n')}`);
        const url = name === 'api' ? process.url : process.opsUrl;
        if (url === undefined) return false;
        const request = sendRequest(`${url}/health/ready`, { timeoutMs: 3_000 });
        return (await request.catch(() => ({ status: 0 }))).status === 200;
      },
      READY_WITHIN_MS,
    );
    if (name === 'api') await waitUntilKeysKnown(process.url!, this.keys);
    this.running.set(name, process);
    // Requests to the previous process still get their responses.
    if (name === 'api') await sleep(500);
    await before?.stop();
    if (name !== 'api') await eventually(`${name} works in its lanes`, () => worksInAllLanes(process));
  }

  /** Sends a webhook test through each API process, and checks that it is delivered once and in time. */
  async checkWebhookTests(): Promise<void> {
    const key = this.keys.read[WATCHED]!;
    for (const url of [this.url, this.unskewedUrl]) {
      const at = Date.now();
      const path = `${url}/v2/organization/webhooks/${this.webhookId}/test`;
      const response = await sendRequest(path, { key, method: 'POST', timeoutMs: 30_000 }).catch(() => undefined);
      const received = this.deliveries.filter((one) => one.at >= at && one.subject === this.webhookId).length;
      if (response?.status !== 200 || response.body.status !== 204 || received !== 1 || response.ms > TEST_WITHIN_MS)
        this.addNow(
          'webhook tests',
          `a test got ${response?.status} ${JSON.stringify(response?.body)} after ${Date.now() - at} ms, with ${received} deliveries`,
        );
    }
  }

  /** Makes the next delivery fail. @returns a function that waits for the retry */
  async failOnce(): Promise<() => Promise<void>> {
    this.failNext = true;
    const until = performance.now() + READY_WITHIN_MS;
    while (this.failed === undefined && performance.now() < until) await sleep(10);
    const failed = this.failed;
    this.failed = undefined;
    return async () => {
      if (failed === undefined) return this.addNow('retries', 'there was no delivery that could fail');
      const retryOfFailed = (): Delivery | undefined =>
        this.deliveries.find(({ at, subject }) => at > failed.at && subject === failed.subject);
      while (retryOfFailed() === undefined && Date.now() < failed.at + RETRY_AT_MOST_MS) await sleep(20);
      const after = (retryOfFailed()?.at ?? Infinity) - failed.at;
      if (after < RETRY_AT_LEAST_MS) this.addNow('retries', `a delivery was retried after ${after} ms`);
      if (after > RETRY_AT_MOST_MS)
        this.addNow('retries', `a failed delivery was not retried within ${RETRY_AT_MOST_MS} ms`);
    };
  }

  /** Sends an event of the metered organization, and checks the usage that both API processes return. */
  async checkQuota(): Promise<void> {
    const events = [
      cloudEvent(sentReport(`m-${this.meteredEventCount}`, { organization: METERED }, `m-${this.meteredEventCount}`)),
    ];
    const sent = await sendRequest(`${this.url}/v2/events`, { key: this.meteredKey, events }).catch(() => undefined);
    if (sent?.status !== 200)
      return this.addNow('usage and quota', `an event got ${sent?.status} ${JSON.stringify(sent?.body)}`);
    this.meteredEventCount += 1;
    let reported = '';
    const isRight = async (url: string): Promise<boolean> => {
      const { body } = await sendRequest(`${url}/v2/events/usage`, { key: this.meteredKey }).catch(() => ({
        body: {},
      }));
      const used = (body.usage ?? []).reduce((sum: number, { events: n }: { events: number }) => sum + n, 0);
      reported = `${used} used, ${body.quota?.events?.left} left`;
      return used === this.meteredEventCount && body.quota?.events?.left === QUOTA - this.meteredEventCount;
    };
    for (const url of [this.url, this.unskewedUrl]) {
      const until = performance.now() + 4_000;
      while (!(await isRight(url)) && performance.now() < until) await sleep(100);
      if (!(await isRight(url))) {
        this.addNow(
          'usage and quota',
          `after ${this.meteredEventCount} events with a quota of ${QUOTA} the API reports ${reported}`,
        );
        break;
      }
    }
  }

  /** Stops the load and checks all reads. @returns the number of reads */
  async stop(): Promise<number> {
    this.stopping.abort();
    await Promise.all(this.work);
    let count = 0;
    for (const [n, readers] of this.readers.entries()) {
      const reports = this.loads[n % SENDING.length]!;
      const reads = await readers.stop();
      count += reads.length;
      for (const { what, at, ms, status, asOf, count: reportCount, error, response } of reads) {
        const [minReports, maxReports] = [reports.acknowledgedBefore(asOf), reports.sentBefore(at + ms)];
        const message = status === 200 ? '' : (error ?? JSON.stringify(response?.body));
        const instant = Number.isNaN(asOf) ? 'nothing' : new Date(asOf).toISOString();
        if (status === 200 && (reportCount < minReports || reportCount > maxReports))
          this.add(
            'X-As-Of',
            at,
            `${what} as of ${instant} has ${reportCount} reports, but ${minReports} were acknowledged and ${maxReports} sent before`,
          );
        // A response cannot be complete up to a time in the future.
        else if (status === 200 && asOf > at + ms + 1)
          this.add(
            'X-As-Of',
            at,
            `${what} has an X-As-Of ${Math.round(asOf - at - ms)} ms after the arrival of the response`,
          );
        // A busy process rejects reads, and a replaced process closes its connections.
        else if (isOverloaded(status, message)) this.readsRejected += 1;
        else if (status !== 200 && status !== 0) this.add('X-As-Of', at, `${what} got ${status} ${message}`);
      }
      for (const what of readers.findings) this.add('X-As-Of', Date.now(), what);
    }
    for (const reports of this.loads) {
      for (const { at, status } of reports.responses) {
        if (status !== 429) continue;
        const facts = this.backlogs.findLast((look) => look.at <= at)?.facts ?? 0;
        if (facts < MIN_BACKLOG_FOR_429) this.add('429', at, `a sender got 429 while ${facts} events waited`);
      }
      reports.close();
    }
    this.watched.close();
    return count;
  }

  private addNow(aspect: Aspect, what: string): void {
    this.add(aspect, Date.now(), what);
  }

  private add(aspect: Aspect, at: number, what: string): void {
    this.findings.push({ aspect, at, what });
  }

  private async begin(): Promise<void> {
    const { signal } = this.stopping;
    const { receiver, keys } = this;
    receiver.react = (one, response, request) => {
      const [subject] = subjectsIn(one.body);
      const delivery = { at: Date.now(), subject: subject! };
      this.deliveries.push(delivery);
      if (this.failNext && subject !== this.webhookId) {
        this.failNext = false;
        this.failed = delivery;
        return answering(503)(one, response, request);
      }
      answering(204)(one, response, request);
    };
    const json = { url: `${await receiver.start()}/hooks` };
    this.context.onEnd(() => receiver.stop());
    const created = await sendRequest(`${this.unskewedUrl}/v2/organization/webhooks`, {
      key: keys.read[WATCHED]!,
      json,
    });
    this.webhookId = (created.body as { id: string }).id;
    this.watched = new Reports(() => this.unskewedUrl, keys.ingest, WATCHED);
    const repeat = async (everyMs: number, action: () => Promise<void>): Promise<void> => {
      for (; !signal.aborted; await sleep(everyMs)) await action();
    };
    const both = [() => this.url, () => this.unskewedUrl];
    this.readers = both.flatMap((url) => SENDING.map((name) => new Readers([url], keys.read[name]!)));
    this.context.onEnd(async () => {
      this.stopping.abort();
      for (const readers of this.readers) await readers.stop();
    });
    const status = this.statusTokenCheck(both);
    this.work.push(
      ...this.loads.map((reports) => reports.keepUp(RATE, signal)),
      repeat(WATCHED_EVERY_MS, () => this.watched.file(1)),
      ...both.map((url, n) => repeat(TOKEN_EVERY_MS, () => this.readWithToken(url(), n))),
      repeat(TOKEN_EVERY_MS, status),
      repeat(LIVE_EVERY_MS, () => this.checkLiveness()),
      repeat(100, () => this.recordBacklog()),
    );
  }

  /** Checks that a read with the token of the last batch includes that batch. */
  private async readWithToken(url: string, n: number): Promise<void> {
    const [reports, organization] = [this.loads[n]!, SENDING[n]!];
    const { token, count } = reports;
    if (token === undefined) return;
    this.tokenReads += 1;
    const isList = this.tokenReads % 2 === 0;
    const path = isList ? `reports?startDate=${DAY}&limit=1` : metricsPath(this.tokenReads);
    const key = this.keys.read[organization]!;
    const headers = { 'consistency-token': token };
    const response = await sendRequest(`${url}/v2/organization/${path}`, { key, headers }).catch(() => undefined);
    if (response === undefined || response.status === 503 || response.status === 429)
      return void (this.tokenReadsRejected += 1);
    const { items, metrics } = response.body;
    const reportCount = isList ? numberOf(items?.[0]?.id ?? 'r--1') : (metrics?.reports ?? 0);
    if (response.status !== 200 || reportCount < count)
      this.addNow(
        'tokens',
        `${path} with the token of ${count} reports got ${response.status} with ${reportCount} reports`,
      );
  }

  /** Checks that an asset check with the token of a status includes that status. */
  private statusTokenCheck(urls: readonly (() => string)[]): () => Promise<void> {
    let n = 0;
    return async () => {
      n += 1;
      const content = `status-${n}.example`;
      const createdAt = new Date().toISOString();
      const event = sentStatus(`s-${n}`, { asset: { type: 'URL', content }, createdAt }, `s-${n}`);
      const [from, to] = [urls[n % 2]!(), urls[(n >> 1) % 2]!()];
      const sent = await sendRequest(`${from}/v2/events`, { key: this.keys.ingest, events: [cloudEvent(event)] }).catch(
        () => undefined,
      );
      const token = sent?.headers['consistency-token'];
      if (sent?.status !== 200 || token === undefined) return;
      this.tokenReads += 1;
      const response = await sendRequest(`${to}/v2/asset/check`, {
        key: this.keys.read[SENDING[0]]!,
        json: { content },
        headers: { 'consistency-token': String(token) },
      }).catch(() => undefined);
      if (response === undefined || response.status === 503 || response.status === 429)
        return void (this.tokenReadsRejected += 1);
      if (response.status !== 200 || response.body.status !== 'BLOCKED')
        this.addNow('tokens', `a check with the token of the status got ${JSON.stringify(response.body)}`);
    };
  }

  private async checkLiveness(): Promise<void> {
    for (const [name, process] of [...this.running, ['second API', this.unskewed] as const]) {
      const url = process.program === 'src/main' ? process.url : process.opsUrl;
      const { status } = await sendRequest(`${url}/health/live`, { timeoutMs: 3_000 }).catch(() => ({ status: 0 }));
      // A process that was replaced meanwhile is allowed not to respond.
      const isReplaced = process !== this.unskewed && this.running.get(name as Skewable) !== process;
      if (status === 503 || (status === 0 && !process.isRunning && !isReplaced))
        this.addNow('liveness', `${name} is not live: ${status}`);
    }
  }

  private async recordBacklog(): Promise<void> {
    const { unskewedUrl: url } = this;
    const { body } = await sendRequest(`${url}/health/ready`, { timeoutMs: 3_000 }).catch(() => ({ body: undefined }));
    const projections: { projection: string; lag: number }[] = body?.parts?.readModels?.detail?.projections ?? [];
    const lags = projections.map(({ lag }) => lag);
    this.backlogs.push({ at: Date.now(), facts: lags.length === 0 ? Infinity : Math.max(...lags) });
  }
}

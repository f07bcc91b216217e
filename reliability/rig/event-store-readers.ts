import { setTimeout as sleep } from 'node:timers/promises';
import { SOURCE } from '../../test/support/upstream.js';
import { type Acknowledged, Acknowledgements, type Claim, idOf, reportOf } from './acknowledgements.js';
import { type HttpResponse, sendRequest, type HttpRequest } from './http-request.js';
import { DAY } from './reports.js';

export interface ReaderKeys {
  readonly ingest: string;
  /** The key of the organization whose reports are read. */
  readonly watched: string;
  /** The key of an organization that has groups and webhooks. */
  readonly other: string;
}

const OK_OR_UNAVAILABLE = [200, 503];
/** The maximum number of pending requests of one kind. */
const MAX_PENDING = 2;
const MAX_TOKEN_READS = 6;
const PAGE = 30;
const NAME = 'Taken';
const MAX_GROUPS = 50;

const within = (n: number): string => `startDate=${DAY}&endDate=${DAY}T23:59:59.${String(100 + (n % 800))}Z`;
const otherEnd = (n: number): string => `startDate=${DAY}&endDate=2026-03-${String(2 + (n % 25)).padStart(2, '0')}`;

/** Reads everything that depends on the event store at a steady rate, and collects wrong responses. */
export class EventStoreReaders {
  readonly claims: Claim[] = [];
  /** The number of responses by status. */
  readonly statuses = new Map<number, number>();
  /** Successful reads with the token of an acknowledgement. */
  tokenReads = 0;
  readonly filed: Acknowledgements;
  private readonly found = new Map<string, { first: string; times: number }>();
  private readonly stopping = new AbortController();
  private readonly running: Promise<unknown>[] = [];
  private readonly groups = new Set<string>([NAME]);
  private pendingTokenReads = 0;
  private tokensRead = 0;

  constructor(
    private readonly url: () => string,
    private readonly keys: ReaderKeys,
    private readonly webhookId: string,
    pool: ConstructorParameters<typeof Acknowledgements>[2],
  ) {
    this.filed = new Acknowledgements(url, keys.ingest, pool, (batch) => this.readWithToken(batch));
  }

  /** Creates a first group, and starts to read and write. */
  async start(writers: number): Promise<void> {
    const created = await this.asked(
      'groups',
      '/v2/organization/asset-groups',
      { key: this.keys.other, json: { name: NAME } },
      [201],
    );
    if (created === undefined) throw new Error('The first group was not created');
    this.readCounts();
    this.readStreams();
    this.readHead();
    this.running.push(this.followFeed(0), this.followFeed(1_000), this.createGroups());
    for (let n = 0; n < writers; n += 1) this.running.push(this.filed.keepFiling(this.stopping.signal));
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await Promise.all(this.running);
  }

  get total(): number {
    return [...this.statuses.values()].reduce((sum, count) => sum + count, 0);
  }

  /** One sentence for each kind of wrong response. */
  get findings(): string[] {
    const wrong = [...this.found].map(([kind, { first, times }]) => `${times} × ${kind}: ${first}`);
    return [...wrong, ...this.filed.findings.slice(0, 3)];
  }

  /** Returns the present `X-As-Of` of metrics in ms; undefined without a response. */
  async metricsAsOf(): Promise<number | undefined> {
    const answer = await this.asked(
      'metrics',
      `/v2/organization/metrics?${within(0)}`,
      { key: this.keys.watched },
      [200],
    );
    return answer === undefined ? undefined : asOf(answer);
  }

  private find(kind: string, sentence: string): void {
    const found = this.found.get(kind);
    if (found === undefined) this.found.set(kind, { first: sentence, times: 1 });
    else found.times += 1;
  }

  /** Sends a request that may get one of these statuses. @returns the response, unless it is a 503 */
  private async asked(
    what: string,
    path: string,
    question: HttpRequest,
    allowed: readonly number[] = OK_OR_UNAVAILABLE,
  ): Promise<HttpResponse | undefined> {
    try {
      const answer = await sendRequest(this.url() + path, question);
      const { status, headers, body } = answer;
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (!allowed.includes(status)) {
        this.find(`${what} answered ${status}`, JSON.stringify(body));
        return undefined;
      }
      if (status === 503 && headers['retry-after'] === undefined) this.find(`${what}: 503 without Retry-After`, path);
      return status === 503 ? undefined : answer;
    } catch (error) {
      this.find(`${what} got no answer`, (error as Error).message);
      return undefined;
    }
  }

  /** Runs `work` at a steady rate, even while earlier calls are pending. */
  private keep(everyMs: number, work: (n: number) => Promise<unknown>): void {
    let pending = 0;
    const run = async (): Promise<void> => {
      for (let n = 0; !this.stopping.signal.aborted; n += 1) {
        if (pending < MAX_PENDING) {
          pending += 1;
          void work(n).finally(() => (pending -= 1));
        }
        await sleep(everyMs);
      }
      while (pending > 0) await sleep(10);
    };
    this.running.push(run());
  }

  /** Reads metrics and lists, which must succeed even while the event store is unavailable. */
  private readCounts(): void {
    const key = this.keys.watched;
    const count = (what: string, path: string, countOf: (body: any) => number) => async () => {
      const answer = await this.asked(what, `/v2/organization/${path}`, { key }, [200]);
      if (answer !== undefined) this.claims.push({ what, asOf: asOf(answer), count: countOf(answer.body) });
    };
    this.keep(40, (n) => count('metrics', `metrics?${within(n)}`, reportsOf)());
    this.keep(200, (n) =>
      count('timeline', `metrics/timeline?${otherEnd(n)}`, ({ points }) =>
        points.reduce((sum: number, { reports }: { reports: number }) => sum + reports, 0),
      )(),
    );
    this.keep(300, (n) =>
      count('comparison', `metrics/comparison?${otherEnd(n)}`, ({ current }) => current.metrics.reports)(),
    );
    this.keep(100, async (n) => {
      const answer = await this.asked('list', `/v2/organization/reports?${otherEnd(n)}&limit=${PAGE}`, { key });
      if (answer === undefined) return;
      const page = answer.body.items.map(({ id }: { id: string }) => reportOf(id)) as number[];
      this.claims.push({ what: 'list', asOf: asOf(answer), page, isWhole: page.length < PAGE });
    });
  }

  /** Reads groups, webhooks and other data from streams of the event store. */
  private readStreams(): void {
    const key = this.keys.other;
    const groups = '/v2/organization/asset-groups';
    const webhooks = '/v2/organization/webhooks';
    this.keep(60, async () => {
      const expected = [...this.groups];
      const answer = await this.asked('groups', groups, { key });
      if (answer === undefined) return;
      const names = new Set(answer.body.groups.map(({ name }: { name: string }) => name));
      const missing = expected.filter((name) => !names.has(name));
      if (missing.length > 0) this.find('groups without one that was created', missing.join());
    });
    this.keep(100, () => this.asked('a group with a taken name', groups, { key, json: { name: NAME } }, [409, 503]));
    this.keep(80, async () => {
      const answer = await this.asked('webhooks', webhooks, { key });
      if (answer !== undefined && !JSON.stringify(answer.body).includes(this.webhookId))
        this.find('webhooks without the one that was created', JSON.stringify(answer.body));
    });
    this.keep(80, () => this.asked('a webhook', `${webhooks}/${this.webhookId}`, { key }));
    this.keep(300, () => this.asked('attempts', `${webhooks}/${this.webhookId}/attempts`, { key }));
    this.keep(300, () => this.asked('organization', '/v2/organization', { key }));
    this.keep(300, () => this.asked('brands', '/v2/organization/brands', { key }));
    this.keep(200, (n) => this.asked('check', '/v2/asset/check', { key, json: { content: `${n}.example` } }));
    this.keep(300, () => this.asked('usage', '/v2/events/usage', { key: this.keys.ingest }));
    this.keep(100, async () => {
      const last = this.filed.all.at(-1);
      if (last === undefined) return;
      const events = last.events.map(({ id, type, data }) => ({ source: SOURCE, id, type, data }));
      const question = { key: this.keys.ingest, json: { events } };
      const answer = await this.asked('status of events', '/v2/events/status', question);
      const unknown = answer?.body.events.filter(({ status }: { status: string }) => status === 'unknown').length ?? 0;
      if (unknown > 0) this.find('acknowledged events that are unknown', `${unknown} of ${events.length}`);
    });
  }

  /** Checks that the token of an empty batch, which is the head, includes all earlier acknowledged reports. */
  private readHead(): void {
    this.keep(100, async (n) => {
      const expected = this.filed.acknowledged;
      const { ingest, watched } = this.keys;
      const answer = await this.asked('an empty batch', '/v2/events', { key: ingest, events: [] }, [200, 503, 429]);
      const token = answer?.headers['consistency-token'];
      if (answer?.status !== 200) return;
      const headers = { 'consistency-token': String(token) };
      const path = `/v2/organization/metrics?${within(n)}`;
      const read = await this.asked('metrics with a token', path, { key: watched, headers });
      if (read !== undefined && reportsOf(read.body) < expected)
        this.find('heads before what was acknowledged', `${reportsOf(read.body)} of ${expected} reports`);
    });
  }

  /** Reads with the token of an acknowledged batch, in turn from each route that accepts tokens. */
  private readWithToken(batch: Acknowledged): void {
    if (this.stopping.signal.aborted || this.pendingTokenReads >= MAX_TOKEN_READS) return;
    this.pendingTokenReads += 1;
    const { token, reports, blocked, before } = batch;
    const headers = { 'consistency-token': token };
    const key = this.keys.watched;
    const last = reports.at(-1)!;
    const expected = before + reports.length;
    const ways: readonly [string, () => Promise<HttpResponse | undefined>, (body: any) => boolean][] = [
      [
        'metrics with a token',
        () => this.asked('metrics with a token', `/v2/organization/metrics?${within(last)}`, { key, headers }),
        (body) => reportsOf(body) >= expected,
      ],
      [
        'a report with a token',
        () => this.asked('a report with a token', `/v2/organization/reports/${idOf(last)}`, { key, headers }),
        (body) => body.id === idOf(last),
      ],
      [
        'a list with a token',
        () => this.asked('a list with a token', `/v2/organization/reports?${otherEnd(0)}&limit=200`, { key, headers }),
        ({ items }) => reports.every((report) => items.some(({ id }: { id: string }) => id === idOf(report))),
      ],
      [
        'a check with a token',
        () => this.asked('a check with a token', '/v2/asset/check', { key, headers, json: { content: blocked } }),
        ({ status }) => status === 'BLOCKED',
      ],
    ];
    const [what, read, contains] = ways[(this.tokensRead += 1) % ways.length]!;
    const reading = read()
      .then((answer) => {
        if (answer === undefined) return;
        this.tokenReads += 1;
        if (!contains(answer.body))
          this.find(`${what} answered without its event`, JSON.stringify(answer.body).slice(0, 300));
      })
      .finally(() => (this.pendingTokenReads -= 1));
    this.running.push(reading);
  }

  /** Follows the feed from the last received id. @param timeout the long-polling timeout in ms */
  private async followFeed(timeout: number): Promise<void> {
    const what = timeout > 0 ? 'feed, waiting' : 'feed';
    const order = new Map<number, number>();
    const ids: string[] = [];
    for (let n = 0; !this.stopping.signal.aborted; n += 1) {
      // Every seventh request repeats from an earlier id.
      const isBack = n % 7 === 6;
      const last = isBack ? ids[Math.floor((ids.length * (n % 5)) / 5)] : ids.at(-1);
      const from = last === undefined ? '' : `&lastEventId=${encodeURIComponent(last)}`;
      const path = `/v2/organization/feed?types=report&limit=1000&timeout=${timeout}${from}`;
      const answer = await this.asked(what, path, { key: this.keys.watched });
      if (answer !== undefined && !isBack) {
        for (const { id, subject } of answer.body as { id: string; subject: string }[]) {
          ids.push(id);
          if (!order.has(reportOf(subject))) order.set(reportOf(subject), order.size);
        }
        this.claims.push({ what, asOf: asOf(answer), order, length: order.size });
      }
      await sleep(answer === undefined || timeout === 0 ? 50 : 0);
    }
  }

  /** Creates groups; each name must be created exactly once. */
  private async createGroups(): Promise<void> {
    for (let n = 1; n < MAX_GROUPS && !this.stopping.signal.aborted;) {
      const name = `Group ${n}`;
      const question = { key: this.keys.other, json: { name } };
      const answer = await this.asked('a new group', '/v2/organization/asset-groups', question, [201, 409, 503]);
      if (answer !== undefined) {
        this.groups.add(name);
        n += 1;
      }
      await sleep(answer === undefined ? 100 : 1_000);
    }
  }
}

const asOf = ({ headers }: HttpResponse): number => Date.parse(String(headers['x-as-of']));
const reportsOf = ({ metrics }: any): number => metrics.reports;

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
/** The maximum number of in-flight requests of one kind. */
const MAX_PENDING = 2;
const MAX_TOKEN_READS = 6;
const PAGE = 30;
const TAKEN_NAME = 'Taken';
const MAX_GROUPS = 50;

const oneDay = (n: number): string => `startDate=${DAY}&endDate=${DAY}T23:59:59.${String(100 + (n % 800))}Z`;
/** The instants of a batch: its reports may not be among the newest ones when the list is read. */
const instantsOf = (reports: readonly number[]): string => {
  const at = (report: number): string => new Date(Date.parse(DAY) + report).toISOString();
  return `startDate=${at(reports[0]!)}&endDate=${at(reports.at(-1)!)}`;
};
const severalDays = (n: number): string => `startDate=${DAY}&endDate=2026-03-${String(2 + (n % 25)).padStart(2, '0')}`;

/** Reads everything that depends on the event store at a steady rate, and collects wrong responses. */
export class EventStoreReaders {
  readonly claims: Claim[] = [];
  /** The number of responses by status. */
  readonly statuses = new Map<number, number>();
  /** Successful reads with the token of an acknowledgement. */
  tokenReads = 0;
  readonly filed: Acknowledgements;
  private readonly findingsByKind = new Map<string, { first: string; times: number }>();
  private readonly stopping = new AbortController();
  private readonly running: Promise<unknown>[] = [];
  private readonly groups = new Set<string>([TAKEN_NAME]);
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

  /** Creates the first group, and starts the readers and writers. @throws Error if the group is not created */
  async start(writers: number): Promise<void> {
    const created = await this.request(
      'groups',
      '/v2/organization/asset-groups',
      { key: this.keys.other, json: { name: TAKEN_NAME } },
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

  /** One finding for each kind of wrong response, with its count and the first example. */
  get findings(): string[] {
    const responseFindings = [...this.findingsByKind].map(([kind, { first, times }]) => `${times} × ${kind}: ${first}`);
    return [...responseFindings, ...this.filed.findings.slice(0, 3)];
  }

  /** Returns the current `X-As-Of` of the metrics in ms since 1970, or undefined without a response. */
  async metricsAsOf(): Promise<number | undefined> {
    const response = await this.request(
      'metrics',
      `/v2/organization/metrics?${oneDay(0)}`,
      { key: this.keys.watched },
      [200],
    );
    return response === undefined ? undefined : asOf(response);
  }

  private addFinding(kind: string, sentence: string): void {
    const found = this.findingsByKind.get(kind);
    if (found === undefined) this.findingsByKind.set(kind, { first: sentence, times: 1 });
    else found.times += 1;
  }

  /** Sends a request that may get one of these statuses. @returns the response, unless it is a 503 */
  private async request(
    what: string,
    path: string,
    request: HttpRequest,
    allowed: readonly number[] = OK_OR_UNAVAILABLE,
  ): Promise<HttpResponse | undefined> {
    try {
      const response = await sendRequest(this.url() + path, request);
      const { status, headers, body } = response;
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      if (!allowed.includes(status)) {
        this.addFinding(`${what}: status ${status}`, JSON.stringify(body));
        return undefined;
      }
      if (status === 503 && headers['retry-after'] === undefined)
        this.addFinding(`${what}: 503 without Retry-After`, path);
      return status === 503 ? undefined : response;
    } catch (error) {
      this.addFinding(`${what}: no response`, (error as Error).message);
      return undefined;
    }
  }

  /** Calls `work` at a steady rate, while at most `MAX_PENDING` earlier calls are pending. */
  private repeat(everyMs: number, work: (n: number) => Promise<unknown>): void {
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
      const response = await this.request(what, `/v2/organization/${path}`, { key }, [200]);
      if (response !== undefined) this.claims.push({ what, asOf: asOf(response), count: countOf(response.body) });
    };
    this.repeat(40, (n) => count('metrics', `metrics?${oneDay(n)}`, reportsOf)());
    this.repeat(200, (n) =>
      count('timeline', `metrics/timeline?${severalDays(n)}`, ({ points }) =>
        points.reduce((sum: number, { reports }: { reports: number }) => sum + reports, 0),
      )(),
    );
    this.repeat(300, (n) =>
      count('comparison', `metrics/comparison?${severalDays(n)}`, ({ current }) => current.metrics.reports)(),
    );
    this.repeat(100, async (n) => {
      const response = await this.request('list', `/v2/organization/reports?${severalDays(n)}&limit=${PAGE}`, { key });
      if (response === undefined) return;
      const page = response.body.items.map(({ id }: { id: string }) => reportOf(id)) as number[];
      this.claims.push({ what: 'list', asOf: asOf(response), page, isWhole: page.length < PAGE });
    });
  }

  /** Reads groups, webhooks and other data from streams of the event store. */
  private readStreams(): void {
    const key = this.keys.other;
    const groups = '/v2/organization/asset-groups';
    const webhooks = '/v2/organization/webhooks';
    this.repeat(60, async () => {
      const expected = [...this.groups];
      const response = await this.request('groups', groups, { key });
      if (response === undefined) return;
      const names = new Set(response.body.groups.map(({ name }: { name: string }) => name));
      const missing = expected.filter((name) => !names.has(name));
      if (missing.length > 0) this.addFinding('created groups missing in the list', missing.join());
    });
    this.repeat(100, () =>
      this.request('a group with a taken name', groups, { key, json: { name: TAKEN_NAME } }, [409, 503]),
    );
    this.repeat(80, async () => {
      const response = await this.request('webhooks', webhooks, { key });
      if (response !== undefined && !JSON.stringify(response.body).includes(this.webhookId))
        this.addFinding('the created webhook missing in the list', JSON.stringify(response.body));
    });
    this.repeat(80, () => this.request('a webhook', `${webhooks}/${this.webhookId}`, { key }));
    this.repeat(300, () => this.request('attempts', `${webhooks}/${this.webhookId}/attempts`, { key }));
    this.repeat(300, () => this.request('organization', '/v2/organization', { key }));
    this.repeat(300, () => this.request('brands', '/v2/organization/brands', { key }));
    this.repeat(200, (n) => this.request('check', '/v2/asset/check', { key, json: { content: `${n}.example` } }));
    this.repeat(300, () => this.request('usage', '/v2/events/usage', { key: this.keys.ingest }));
    this.repeat(100, async () => {
      const last = this.filed.all.at(-1);
      if (last === undefined) return;
      const events = last.events.map(({ id, type, data }) => ({ source: SOURCE, id, type, data }));
      const options = { key: this.keys.ingest, json: { events } };
      const response = await this.request('status of events', '/v2/events/status', options);
      const unknown =
        response?.body.events.filter(({ status }: { status: string }) => status === 'unknown').length ?? 0;
      if (unknown > 0) this.addFinding('acknowledged events with the status unknown', `${unknown} of ${events.length}`);
    });
  }

  /** Checks that the token of an empty batch, which is the head of the log, includes all acknowledged reports. */
  private readHead(): void {
    this.repeat(100, async (n) => {
      const expected = this.filed.acknowledged;
      const { ingest, watched } = this.keys;
      const response = await this.request('an empty batch', '/v2/events', { key: ingest, events: [] }, [200, 503, 429]);
      const token = response?.headers['consistency-token'];
      if (response?.status !== 200) return;
      const headers = { 'consistency-token': String(token) };
      const path = `/v2/organization/metrics?${oneDay(n)}`;
      const read = await this.request('metrics with a token', path, { key: watched, headers });
      if (read !== undefined && reportsOf(read.body) < expected)
        this.addFinding('head tokens that miss acknowledged reports', `${reportsOf(read.body)} of ${expected} reports`);
    });
  }

  /** Reads with the token of an acknowledged batch, from the routes that accept tokens in turn. */
  private readWithToken(batch: Acknowledged): void {
    if (this.stopping.signal.aborted || this.pendingTokenReads >= MAX_TOKEN_READS) return;
    this.pendingTokenReads += 1;
    const { token, reports, blocked, before } = batch;
    const headers = { 'consistency-token': token };
    const key = this.keys.watched;
    const last = reports.at(-1)!;
    const expected = before + reports.length;
    const routes: readonly [string, () => Promise<HttpResponse | undefined>, (body: any) => boolean][] = [
      [
        'metrics with a token',
        () => this.request('metrics with a token', `/v2/organization/metrics?${oneDay(last)}`, { key, headers }),
        (body) => reportsOf(body) >= expected,
      ],
      [
        'a report with a token',
        () => this.request('a report with a token', `/v2/organization/reports/${idOf(last)}`, { key, headers }),
        (body) => body.id === idOf(last),
      ],
      [
        'a list with a token',
        () => this.request('a list with a token', `/v2/organization/reports?${instantsOf(reports)}`, { key, headers }),
        ({ items }) => reports.every((report) => items.some(({ id }: { id: string }) => id === idOf(report))),
      ],
      [
        'a check with a token',
        () => this.request('a check with a token', '/v2/asset/check', { key, headers, json: { content: blocked } }),
        ({ status }) => status === 'BLOCKED',
      ],
    ];
    const [what, read, contains] = routes[(this.tokensRead += 1) % routes.length]!;
    const pending = read()
      .then((response) => {
        if (response === undefined) return;
        this.tokenReads += 1;
        if (!contains(response.body))
          this.addFinding(`${what}: the event of the token is missing`, JSON.stringify(response.body).slice(0, 300));
      })
      .finally(() => (this.pendingTokenReads -= 1));
    this.running.push(pending);
  }

  /** Follows the feed from the last received id. @param timeout the long-polling timeout in ms */
  private async followFeed(timeout: number): Promise<void> {
    const what = timeout > 0 ? 'feed, waiting' : 'feed';
    const order = new Map<number, number>();
    const ids: string[] = [];
    for (let n = 0; !this.stopping.signal.aborted; n += 1) {
      // Every seventh request reads again from an earlier id.
      const isBack = n % 7 === 6;
      const last = isBack ? ids[Math.floor((ids.length * (n % 5)) / 5)] : ids.at(-1);
      const from = last === undefined ? '' : `&lastEventId=${encodeURIComponent(last)}`;
      const path = `/v2/organization/feed?types=report&limit=1000&timeout=${timeout}${from}`;
      const response = await this.request(what, path, { key: this.keys.watched });
      if (response !== undefined && !isBack) {
        for (const { id, subject } of response.body as { id: string; subject: string }[]) {
          ids.push(id);
          if (!order.has(reportOf(subject))) order.set(reportOf(subject), order.size);
        }
        this.claims.push({ what, asOf: asOf(response), order, length: order.size });
      }
      await sleep(response === undefined || timeout === 0 ? 50 : 0);
    }
  }

  /** Creates groups with different names. Retries a name until the group exists. */
  private async createGroups(): Promise<void> {
    for (let n = 1; n < MAX_GROUPS && !this.stopping.signal.aborted;) {
      const name = `Group ${n}`;
      const options = { key: this.keys.other, json: { name } };
      const response = await this.request('a new group', '/v2/organization/asset-groups', options, [201, 409, 503]);
      if (response !== undefined) {
        this.groups.add(name);
        n += 1;
      }
      await sleep(response === undefined ? 100 : 1_000);
    }
  }
}

const asOf = ({ headers }: HttpResponse): number => Date.parse(String(headers['x-as-of']));
const reportsOf = ({ metrics }: any): number => metrics.reports;

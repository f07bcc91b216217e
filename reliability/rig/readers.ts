import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import { type Probe, type ProbeResult, Prober } from './probe.js';
import { DAY, numberOf, type Reports } from './reports.js';

/** The result of a read from a route that a replica may serve. */
export interface Read extends ProbeResult {
  /** The number of reports that the response includes: always the first ones. */
  readonly count: number;
  /** `X-As-Of`, in ms since 1970. */
  readonly asOf: number;
}

interface Route {
  readonly name: string;
  readonly everyMs: number;
  /** Consecutive paths differ, because equal concurrent requests share a response. */
  readonly path: (n: number) => string;
  readonly countOf: (body: any) => number;
}

/** Returns a range that ends within a day, so that its facts are counted one by one. Ranges of different n differ. */
const oneDay = (n: number): string => `startDate=${DAY}&endDate=${DAY}T23:59:59.${String(100 + (n % 800))}Z`;
/** Returns the n-th path of metrics of the day. */
export const metricsPath = (n: number): string => `metrics?${oneDay(n)}`;
const severalDays = (n: number): string => `startDate=${DAY}&endDate=2026-03-${String(2 + (n % 25)).padStart(2, '0')}`;

const ROUTES: readonly Route[] = [
  {
    name: 'metrics',
    everyMs: 80,
    path: metricsPath,
    countOf: ({ metrics }) => metrics.reports,
  },
  {
    name: 'timeline',
    everyMs: 200,
    path: (n) => `metrics/timeline?${severalDays(n)}`,
    countOf: ({ points }) => points.reduce((sum: number, { reports }: { reports: number }) => sum + reports, 0),
  },
  {
    name: 'comparison',
    everyMs: 400,
    path: (n) => `metrics/comparison?${severalDays(n)}`,
    countOf: ({ current }) => current.metrics.reports,
  },
  {
    name: 'list',
    everyMs: 150,
    path: (n) => `reports?${severalDays(n)}&limit=1`,
    countOf: ({ items }) => (items.length === 0 ? 0 : numberOf(items[0].id)),
  },
];
const FEED_EVERY_MS = 100;

const urlOf = (url: string | (() => string)): string => (typeof url === 'string' ? url : url());

/** Reads all routes that a replica may serve at a steady rate. */
export class Readers {
  private readonly prober: Prober;
  private readonly stopping = new AbortController();
  private readonly following: Promise<void>;
  private readonly elements: Read[] = [];
  readonly findings: string[] = [];

  constructor(
    private readonly urls: readonly (string | (() => string))[],
    private readonly key: string,
  ) {
    this.prober = new Prober(
      urls.flatMap((url) =>
        ROUTES.map(({ name, everyMs, path }): Probe => {
          let n = 0;
          return { what: name, everyMs, key, url: () => `${urlOf(url)}/v2/organization/${path((n += 1))}` };
        }),
      ),
    );
    this.following = this.follow();
  }

  /** The number of responses. */
  get count(): number {
    return this.prober.results.length;
  }

  /** Stops reading. @returns all reads, in no particular order */
  async stop(): Promise<readonly Read[]> {
    this.stopping.abort();
    await this.following;
    const reads = (await this.prober.stop()).map((probed): Read => {
      const { status, response, what } = probed;
      const count = status === 200 ? ROUTES.find(({ name }) => name === what)!.countOf(response!.body) : 0;
      return { ...probed, count, asOf: Date.parse(String(response?.headers['x-as-of'])) };
    });
    return [...reads, ...this.elements];
  }

  /** Follows the feed through the API processes in turn. */
  private async follow(): Promise<void> {
    let last: string | undefined;
    let count = 0;
    for (let n = 0; !this.stopping.signal.aborted; n += 1) {
      const at = Date.now();
      const url = `${urlOf(this.urls[n % this.urls.length]!)}/v2/organization/feed?types=report&limit=1000`;
      const from = last === undefined ? '' : `&lastEventId=${encodeURIComponent(last)}`;
      try {
        const { status, headers, body, ms } = await sendRequest(url + from, { key: this.key });
        for (const { id, subject } of status === 200 ? (body as { id: string; subject: string }[]) : []) {
          if (numberOf(subject) !== count + 1)
            this.findings.push(`The feed continued after report ${count} with ${subject}`);
          [last, count] = [id, numberOf(subject)];
        }
        const error = status === 200 ? undefined : JSON.stringify(body);
        const asOf = Date.parse(String(headers['x-as-of']));
        this.elements.push({ what: 'feed', at, ms, status, count, asOf, ...(error !== undefined && { error }) });
      } catch (error) {
        const { message } = error as Error;
        this.elements.push({ what: 'feed', at, ms: Date.now() - at, status: 0, error: message, count: 0, asOf: 0 });
      }
      await sleep(FEED_EVERY_MS);
    }
  }
}

/** A period of a run, which lasts until the next period begins. */
export interface Period {
  readonly name: string;
  /** In ms since 1970. */
  readonly from: number;
}

const describeRead = ({ what, at, status, error, response, ms }: Read, periods: readonly Period[]): string => {
  const period = periods.findLast(({ from }) => from <= at);
  const since =
    period === undefined ? 'before the first period' : `${at - period.from} ms after the start of ${period.name}`;
  return `${what}, ${since}: ${status} ${error ?? JSON.stringify(response?.body)} after ${Math.round(ms)} ms`;
};

/** Returns findings: failed reads, and responses that do not match the acknowledgements before their `X-As-Of`. */
export const checkReads = (reads: readonly Read[], reports: Reports, periods: readonly Period[]): string[] => {
  const failed = reads.filter(({ status }) => status !== 200);
  const wrongReads = reads.flatMap(({ what, at, ms, status, count, asOf }) => {
    if (status !== 200) return [];
    const [minReports, maxReports] = [reports.acknowledgedBefore(asOf), reports.sentBefore(at + ms)];
    if (count >= minReports && count <= maxReports) return [];
    const instant = new Date(asOf).toISOString();
    return [
      `${what} as of ${instant} has ${count} reports; ${minReports} were acknowledged before, ${maxReports} were sent`,
    ];
  });
  const firstFailures = failed.slice(0, 5).map((read) => describeRead(read, periods));
  return [
    ...(failed.length > 0 ? [`${failed.length} of ${reads.length} reads failed: ${firstFailures.join('; ')}`] : []),
    ...wrongReads.slice(0, 3),
  ];
};

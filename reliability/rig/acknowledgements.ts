import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { cloudEvent, type Sent, sent, sentStatus } from '../../test/support/upstream.js';
import { sendRequest } from './http-request.js';
import { DAY } from './reports.js';

/** The organization of the reports. Only `Acknowledgements` files reports for it. */
export const WATCHED = 'watched';
const REPORTS_PER_BATCH = 4;
const RETRY_AFTER_MS = 20;
const PAUSE_MS = 25;

/** A batch of reports, and a status that blocks an asset. */
export interface Batch {
  readonly events: readonly Sent[];
  /** The numbers of the reports. */
  readonly reports: readonly number[];
  /** The asset that the status blocks. */
  readonly blocked: string;
}

export interface Acknowledged extends Batch {
  /** A time after the acknowledgement, by the database's clock, in ms. */
  readonly at: number;
  /** The consistency token of the response. */
  readonly token: string;
  /** How many reports had been acknowledged before the batch was first sent. */
  readonly before: number;
}

export const idOf = (report: number): string => `w-${report}`;
export const reportOf = (id: string): number => Number(id.slice(2));

/**
 * Files reports and records their acknowledgements by the database's clock, which is the clock of `X-As-Of`. Retries
 * each batch until it is acknowledged.
 */
export class Acknowledgements {
  /** In the order of their acknowledgements. */
  readonly all: Acknowledged[] = [];
  readonly findings: string[] = [];
  /** The number of acknowledged reports. */
  acknowledged = 0;
  /** The number of reports that were sent, acknowledged or not. */
  sent = 0;
  /** Requests that were rejected or got no response. */
  rejected = 0;

  constructor(
    private readonly url: () => string,
    private readonly key: string,
    private readonly pool: Pool,
    private readonly onAcknowledged: (batch: Acknowledged) => void,
  ) {}

  /** Files batches sequentially until `signal` aborts. Concurrent calls are allowed. */
  async keepFiling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.file(signal);
      await sleep(PAUSE_MS);
    }
  }

  /** Returns the time of the database's clock, in ms since 1970. */
  async databaseTime(): Promise<number> {
    const text = 'select (extract(epoch from clock_timestamp()) * 1000)::float8 as at';
    return (await this.pool.query<{ at: number }>(text)).rows[0]!.at;
  }

  private next(): Batch {
    const first = this.sent;
    this.sent += REPORTS_PER_BATCH;
    const reports = Array.from({ length: REPORTS_PER_BATCH }, (_, n) => first + n);
    const events = reports.map((report) => {
      const at = new Date(Date.parse(DAY) + report).toISOString();
      const data = { organization: WATCHED, reportId: idOf(report), createdAt: at, updatedAt: at };
      return sent('ReportFiled', data, idOf(report));
    });
    const blocked = `blocked-${first}.example`;
    const status = { changeId: `change-${first}`, asset: { type: 'URL', content: blocked } };
    return { events: [...events, sentStatus(status.changeId, status, status.changeId)], reports, blocked };
  }

  private async file(signal: AbortSignal): Promise<void> {
    const before = this.acknowledged;
    const batch = this.next();
    const events = batch.events.map(cloudEvent);
    for (; !signal.aborted; await sleep(RETRY_AFTER_MS)) {
      const response = await sendRequest(`${this.url()}/v2/events`, { key: this.key, events }).catch(
        (error: Error) => error,
      );
      if (response instanceof Error) {
        this.findings.push(`A request got no response: ${response.message}`);
        continue;
      }
      if (response.status !== 200) {
        this.rejected += 1;
        if (response.status !== 503 && response.status !== 429)
          this.findings.push(`A request got the status ${response.status}: ${JSON.stringify(response.body)}`);
        continue;
      }
      const token = response.headers['consistency-token'];
      if (typeof token !== 'string') this.findings.push('A response had no Consistency-Token');
      this.acknowledged += batch.reports.length;
      const acknowledged = { ...batch, at: await this.databaseTime(), token: String(token), before };
      this.all.push(acknowledged);
      this.onAcknowledged(acknowledged);
      return;
    }
  }
}

/** The content of a response with `X-As-Of`: the number of reports, or the reports themselves. */
export type Claim = { readonly what: string; readonly asOf: number } & (
  | { readonly count: number }
  /** A page with the newest reports: all reports from the oldest one of the page on. */
  | { readonly page: readonly number[]; readonly isWhole: boolean }
  /** The reports that a reader of the feed has received: those with a place in `order` below `length`. */
  | { readonly order: ReadonlyMap<number, number>; readonly length: number }
);

/** Returns how many reports are missing from a response although they were acknowledged before its `X-As-Of`. */
const missingFrom = (claim: Claim, acknowledged: readonly number[]): number => {
  if ('count' in claim) return Math.max(0, acknowledged.length - claim.count);
  if ('page' in claim) {
    const listed = new Set(claim.page);
    const oldest = claim.isWhole ? 0 : Math.min(...claim.page);
    return acknowledged.filter((report) => report >= oldest && !listed.has(report)).length;
  }
  return acknowledged.filter((report) => (claim.order.get(report) ?? Infinity) >= claim.length).length;
};

/** Returns a finding for each response that lacks a report acknowledged before its `X-As-Of`. */
export const untrueClaims = (claims: readonly Claim[], all: readonly Acknowledged[]): string[] => {
  const history = all
    .flatMap(({ at, reports }) => reports.map((report) => ({ at, report })))
    .sort((one, other) => one.at - other.at);
  const findings: string[] = [];
  const acknowledged: number[] = [];
  for (const claim of [...claims].sort((one, other) => one.asOf - other.asOf)) {
    while (history[acknowledged.length] !== undefined && history[acknowledged.length]!.at < claim.asOf)
      acknowledged.push(history[acknowledged.length]!.report);
    const missing = missingFrom(claim, acknowledged);
    if (missing > 0)
      findings.push(
        `${claim.what} as of ${new Date(claim.asOf).toISOString()} lacks ${missing} of the ${acknowledged.length} reports that were acknowledged before`,
      );
  }
  return findings;
};

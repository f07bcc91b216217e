import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { cloudEvent, type Sent, sent, sentStatus } from '../../test/support/upstream.js';
import { sendRequest } from './http-request.js';
import { DAY } from './reports.js';

/** The organization of the reports. No other code files reports for it. */
export const WATCHED = 'watched';
const REPORTS_PER_BATCH = 4;
const AGAIN_AFTER_MS = 20;
const PAUSE_MS = 25;

/** A batch of reports and one status of an asset. */
export interface Batch {
  readonly events: readonly Sent[];
  /** The numbers of the reports. */
  readonly reports: readonly number[];
  /** The asset that it blocks. */
  readonly blocked: string;
}

export interface Acknowledged extends Batch {
  /** An upper bound of the time of the acknowledgement, by the database's clock, in ms. */
  readonly at: number;
  /** The consistency token of the response. */
  readonly token: string;
  /** How many reports had been acknowledged before the batch was sent for the first time. */
  readonly before: number;
}

export const idOf = (report: number): string => `w-${report}`;
export const reportOf = (id: string): number => Number(id.slice(2));

/**
 * Files reports and keeps a history of their acknowledgements by the database's clock, which is the clock of `X-As-Of`.
 * A batch that is not acknowledged is sent again until it is.
 */
export class Acknowledgements {
  /** In the order of their acknowledgements. */
  readonly all: Acknowledged[] = [];
  readonly findings: string[] = [];
  /** Reports that were acknowledged, and reports that were sent. */
  acknowledged = 0;
  sent = 0;
  /** Requests that were rejected or got no response. */
  refused = 0;

  constructor(
    private readonly url: () => string,
    private readonly key: string,
    private readonly pool: Pool,
    private readonly onAcknowledged: (batch: Acknowledged) => void,
  ) {}

  /** Files batches one after the other until `signal` aborts. Several may run at once. */
  async keepFiling(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.file(signal);
      await sleep(PAUSE_MS);
    }
  }

  /** @returns the instant of the database's clock, ms */
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
    for (; !signal.aborted; await sleep(AGAIN_AFTER_MS)) {
      const answer = await sendRequest(`${this.url()}/v2/events`, { key: this.key, events }).catch(
        (error: Error) => error,
      );
      if (answer instanceof Error) {
        this.findings.push(`A request got no response: ${answer.message}`);
        continue;
      }
      if (answer.status !== 200) {
        this.refused += 1;
        if (answer.status !== 503 && answer.status !== 429)
          this.findings.push(`A request got the status ${answer.status}: ${JSON.stringify(answer.body)}`);
        continue;
      }
      const token = answer.headers['consistency-token'];
      if (typeof token !== 'string') this.findings.push('A response had no Consistency-Token');
      this.acknowledged += batch.reports.length;
      const acknowledged = { ...batch, at: await this.databaseTime(), token: String(token), before };
      this.all.push(acknowledged);
      this.onAcknowledged(acknowledged);
      return;
    }
  }
}

/** A response with `X-As-Of`: how many reports it counts, or which ones it lists. */
export type Claim = { readonly what: string; readonly asOf: number } & (
  | { readonly count: number }
  /** A page of the newest reports; it lists all from its oldest one on. */
  | { readonly page: readonly number[]; readonly isWhole: boolean }
  /** What a reader of the feed has received so far: the first `length` of `order`. */
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
        `${claim.what} as of ${new Date(claim.asOf).toISOString()} lacks ${missing} of ${acknowledged.length} reports acknowledged before`,
      );
  }
  return findings;
};

import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { cloudEvent, type Sent, sent, sentStatus } from '../../test/support/upstream.js';
import { ask } from './ask.js';
import { DAY } from './reports.js';

/** Whose reports they are; nobody else files any. */
export const WATCHED = 'watched';
const REPORTS_PER_BATCH = 4;
const AGAIN_AFTER_MS = 20;
const PAUSE_MS = 25;

/** A batch of reports, and one status of an asset. */
export interface Batch {
  readonly events: readonly Sent[];
  /** Numbers of its reports. */
  readonly reports: readonly number[];
  /** The asset that it blocks. */
  readonly blocked: string;
}

export interface Acknowledged extends Batch {
  /** When it was acknowledged, at the latest: ms, by the database's clock. */
  readonly at: number;
  /** Of the answer. */
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
  /** Posts that were refused or got no answer. */
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
      const answer = await ask(`${this.url()}/v2/events`, { key: this.key, events }).catch((error: Error) => error);
      if (answer instanceof Error) {
        this.findings.push(`A post got no answer: ${answer.message}`);
        continue;
      }
      if (answer.status !== 200) {
        this.refused += 1;
        if (answer.status !== 503 && answer.status !== 429)
          this.findings.push(`A post was answered ${answer.status}: ${JSON.stringify(answer.body)}`);
        continue;
      }
      const token = answer.headers['consistency-token'];
      if (typeof token !== 'string') this.findings.push('A post was answered without Consistency-Token');
      this.acknowledged += batch.reports.length;
      const acknowledged = { ...batch, at: await this.databaseTime(), token: String(token), before };
      this.all.push(acknowledged);
      this.onAcknowledged(acknowledged);
      return;
    }
  }
}

/** An answer that claims an instant: how many reports it counts, or which ones it lists. */
export type Claim = { readonly what: string; readonly asOf: number } & (
  | { readonly count: number }
  /** A page of the newest reports; it lists all from its oldest one on. */
  | { readonly page: readonly number[]; readonly isWhole: boolean }
  /** What a reader of the feed has got so far: the first so many of `order`. */
  | { readonly order: ReadonlyMap<number, number>; readonly length: number }
);

/** Which reports, acknowledged before the instant that an answer claims, the answer lacks; how many at least. */
const missingFrom = (claim: Claim, acknowledged: readonly number[]): number => {
  if ('count' in claim) return Math.max(0, acknowledged.length - claim.count);
  if ('page' in claim) {
    const listed = new Set(claim.page);
    const oldest = claim.isWhole ? 0 : Math.min(...claim.page);
    return acknowledged.filter((report) => report >= oldest && !listed.has(report)).length;
  }
  return acknowledged.filter((report) => (claim.order.get(report) ?? Infinity) >= claim.length).length;
};

/** @returns a sentence for each answer that claims an instant after an acknowledgement that it does not contain */
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

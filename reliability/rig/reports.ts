import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sent } from '../../test/support/upstream.js';
import { type HttpResponse, sendRequest, BATCH } from './http-request.js';

/** The day of all reports. */
export const DAY = '2026-03-01';
const RETRY_AFTER_MS = 50;
/** How long a batch may take to be acknowledged. */
const TIMEOUT_MS = 60_000;

/** The number of reports at an instant. */
interface Mark {
  readonly at: number;
  readonly count: number;
}

/** The response to an attempt to send a batch. */
interface BatchResponse {
  readonly at: number;
  /** The status; 0 if there was no response. */
  readonly status: number;
}

const lastBefore = (marks: readonly Mark[], instant: number): number =>
  marks.findLast(({ at }) => at < instant)?.count ?? 0;

/**
 * Files the reports of an organization in order over one connection. At any time, the reports that the service has
 * stored are therefore the first n of them.
 */
export class Reports {
  /** The responses to all attempts to send a batch. */
  readonly responses: BatchResponse[] = [];
  /** The `Consistency-Token` of the last acknowledged batch. It includes the first `count` reports. */
  token: string | undefined;
  private readonly sent: Mark[] = [];
  private readonly acknowledged: Mark[] = [];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(
    private readonly url: () => string,
    private readonly key: string,
    private readonly organization = 'acme',
  ) {}

  get count(): number {
    return this.acknowledged.at(-1)?.count ?? 0;
  }

  /** Sends `count` more reports, with retries. @throws Error if they are not acknowledged in time */
  async file(count: number): Promise<void> {
    const first = this.count;
    const body = JSON.stringify(
      Array.from({ length: count }, (_, n) => {
        const at = new Date(Date.parse(DAY) + first + n).toISOString();
        const reportId = `r-${first + n}`;
        return cloudEvent(
          sent('ReportFiled', { organization: this.organization, reportId, createdAt: at, updatedAt: at }, reportId),
        );
      }),
    );
    const { url, key, agent } = this;
    this.sent.push({ at: Date.now(), count: first + count });
    const send = async (): Promise<boolean> => {
      const request = sendRequest(`${url()}/v2/events`, { key, type: BATCH, body, agent });
      const { status, headers } = await request.catch(() => ({ status: 0, headers: {} as HttpResponse['headers'] }));
      this.responses.push({ at: Date.now(), status });
      if (status === 200) this.token = headers['consistency-token'] as string | undefined;
      return status === 200;
    };
    const until = Date.now() + TIMEOUT_MS;
    for (; !(await send()); await sleep(RETRY_AFTER_MS))
      if (Date.now() > until) throw new Error(`Reports from ${first} on were not acknowledged within ${TIMEOUT_MS} ms`);
    this.acknowledged.push({ at: Date.now(), count: first + count });
  }

  /** Sends batches of ten reports until `signal` aborts. */
  async keepFiling(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.file(10);
      await sleep(everyMs);
    }
  }

  /** Sends `perSecond` reports per second, in batches of up to 100, until `signal` aborts. */
  async keepUp(perSecond: number, signal: AbortSignal): Promise<void> {
    const begin = performance.now() - 1_000 * (this.count / perSecond);
    while (!signal.aborted) {
      const expected = Math.floor(((performance.now() - begin) * perSecond) / 1_000) - this.count;
      if (expected > 0) await this.file(Math.min(expected, 100));
      await sleep(30);
    }
  }

  close(): void {
    this.agent.destroy();
  }

  acknowledgedBefore(instant: number): number {
    return lastBefore(this.acknowledged, instant);
  }

  /** Returns how many reports had been sent before the instant, acknowledged or not. */
  sentBefore(instant: number): number {
    return lastBefore(this.sent, instant);
  }
}

/** Returns the number of a report, starting at 1. */
export const numberOf = (id: string): number => Number(id.slice(2)) + 1;

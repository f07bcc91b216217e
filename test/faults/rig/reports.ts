import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { cloudEvent, sent } from '../../support/upstream.js';
import { ask, BATCH } from './ask.js';

/** Of which all are. */
export const DAY = '2026-03-01';
const ORGANIZATION = 'acme';
const AGAIN_AFTER_MS = 50;
/** For a batch to be acknowledged. */
const PATIENCE_MS = 60_000;

/** So many of them, at an instant (ms). */
interface Mark {
  readonly at: number;
  readonly count: number;
}

const lastBefore = (marks: readonly Mark[], instant: number): number =>
  marks.findLast(({ at }) => at < instant)?.count ?? 0;

/**
 * Reports of an organization, filed in their order over one connection: what is stored, and so what is counted as of any
 * instant, is always the first so many of them.
 */
export class Reports {
  private readonly begun: Mark[] = [];
  private readonly acknowledged: Mark[] = [];
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(
    private readonly url: () => string,
    private readonly key: string,
  ) {}

  get count(): number {
    return this.acknowledged.at(-1)?.count ?? 0;
  }

  /** Files so many more. What is not acknowledged is sent again. @throws where it never is */
  async file(count: number): Promise<void> {
    const first = this.count;
    const body = JSON.stringify(
      Array.from({ length: count }, (_, n) => {
        const at = new Date(Date.parse(DAY) + first + n).toISOString();
        const reportId = `r-${first + n}`;
        return cloudEvent(
          sent('ReportFiled', { organization: ORGANIZATION, reportId, createdAt: at, updatedAt: at }, reportId),
        );
      }),
    );
    const { url, key, agent } = this;
    this.begun.push({ at: Date.now(), count: first + count });
    const send = async (): Promise<boolean> => {
      const answer = ask(`${url()}/v2/events`, { key, type: BATCH, body, agent });
      return (await answer.catch(() => ({ status: 0 }))).status === 200;
    };
    const until = Date.now() + PATIENCE_MS;
    for (; !(await send()); await sleep(AGAIN_AFTER_MS))
      if (Date.now() > until) throw new Error(`Reports from ${first} on were not acknowledged in ${PATIENCE_MS} ms`);
    this.acknowledged.push({ at: Date.now(), count: first + count });
  }

  /** Files ten at a time until `signal` aborts. */
  async keepFiling(everyMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.file(10);
      await sleep(everyMs);
    }
  }

  close(): void {
    this.agent.destroy();
  }

  acknowledgedBefore(instant: number): number {
    return lastBefore(this.acknowledged, instant);
  }

  /** Sent, acknowledged or not. */
  sentBefore(instant: number): number {
    return lastBefore(this.begun, instant);
  }
}

/** The number of a report, from 1. */
export const numberOf = (id: string): number => Number(id.slice(2)) + 1;

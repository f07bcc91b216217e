import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { history, BRANDS, ORGANIZATIONS } from '../../test/support/histories.js';
import type { EventLog } from '../../src/event-log/event-log.js';
import type { Random } from '../../test/support/random.js';
import { cloudEvent, sent, type Sent, stored } from '../../test/support/upstream.js';
import { type HttpResponse, sendRequest, BATCH } from './http-request.js';
import type { RunContext } from './run-context.js';

const CHUNK = 2_000;

/** Generates random upstream events: many states and deletions of each record. */
export function* upstream(random: Random, size = Infinity): Generator<Sent> {
  for (let n = 0; n < size;)
    for (const event of history(random, Math.min(CHUNK, size - n), 0)) yield { ...event, id: `e-${n++}` };
}

/** Returns the events that register brands and enable brand metrics. */
export const brandsAndFlags = (): Sent[] =>
  ORGANIZATIONS.flatMap((organization) => [
    sent(
      'FeatureFlagChanged',
      { organization, flag: 'brands-metrics', enabled: true, updatedAt: '2026-01-01T00:00:00Z' },
      `flag-${organization}`,
    ),
    ...BRANDS.map((brand) =>
      sent(
        'BrandRegistered',
        { organization, brand, updatedAt: '2026-01-01T00:00:00Z' },
        `brand-${organization}-${brand}`,
      ),
    ),
  ]);

/** Generates brands, and then upstream events. */
export function* fullLoad(random: Random, size?: number): Generator<Sent> {
  yield* brandsAndFlags();
  yield* upstream(random, size);
}

/** Splits events into batches of up to `size`. */
export function* inBatches(events: Iterable<Sent>, size: number): Generator<Sent[]> {
  let batch: Sent[] = [];
  for (const event of events) {
    batch.push(event);
    if (batch.length < size) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** An attempt to deliver a batch. */
export interface Attempt {
  /** When the request was sent, in ms since 1970. */
  readonly at: number;
  readonly ms: number;
  /** The status; 0 if there was no response. */
  readonly status: number;
  readonly retryAfter?: string | undefined;
  /** The error, if there was no response. */
  readonly error?: string;
}

/** The history of all deliveries, which the checks compare with the service. */
export class History {
  readonly acknowledged: Sent[] = [];
  readonly attempts: Attempt[] = [];
  readonly wrong: string[] = [];
  accepted = 0;
  duplicates = 0;

  constructor(readonly context: RunContext) {
    context.keepFile('history.json', () =>
      JSON.stringify({
        wrong: this.wrong,
        attempts: this.attempts,
        acknowledged: this.acknowledged.map(({ id }) => id),
      }),
    );
  }

  /** Discards old entries to save memory in runs with millions of events. */
  discardOld(): void {
    this.acknowledged.splice(0, Math.max(0, this.acknowledged.length - 200_000));
    this.attempts.length = 0;
  }
}

/** Appends batches to the log until `signal` aborts. Bypasses the endpoint, whose backpressure bounds the backlog. */
export const appendDirectly = async (
  log: EventLog,
  batches: Iterable<readonly Sent[]>,
  history: History,
  signal: AbortSignal,
  maxEvents = Infinity,
): Promise<void> => {
  for (const batch of batches) {
    if (signal.aborted || history.accepted >= maxEvents) return;
    await log.appendAll(batch.map(stored));
    history.accepted += batch.length;
    history.acknowledged.push(...batch);
  }
};

/** A sender that retries each batch until it is acknowledged. */
export class Sender {
  private readonly agent: Agent;

  constructor(
    private readonly url: () => string,
    private readonly key: string,
    readonly history: History,
    private readonly connections = 4,
    /** The timeout of a request, in ms. */
    private readonly timeoutMs = 20_000,
  ) {
    this.agent = new Agent({ keepAlive: true, maxSockets: connections });
    history.context.onEnd(async () => this.agent.destroy());
  }

  /** Starts to deliver. @returns a function that stops */
  keepDelivering(queue: Iterator<readonly Sent[]>): () => Promise<void> {
    const stop = new AbortController();
    const delivering = this.deliver(queue, stop.signal);
    return () => {
      stop.abort();
      return delivering;
    };
  }

  /** Delivers the batches in order over several connections, until all are acknowledged or `signal` aborts. */
  async deliver(queue: Iterator<readonly Sent[]>, signal?: AbortSignal): Promise<void> {
    const work = async (): Promise<void> => {
      while (!signal?.aborted) {
        const next = queue.next();
        if (next.done) return;
        const body = JSON.stringify(next.value.map(cloudEvent));
        while (!(await this.attempt(next.value, body))) {
          if (signal?.aborted) return;
          await sleep(20);
        }
      }
    };
    await Promise.all(Array.from({ length: this.connections }, work));
  }

  private async attempt(events: readonly Sent[], body: string): Promise<boolean> {
    const at = Date.now();
    const { history } = this;
    let response: HttpResponse;
    try {
      response = await sendRequest(`${this.url()}/v2/events`, {
        key: this.key,
        type: BATCH,
        body,
        agent: this.agent,
        timeoutMs: this.timeoutMs,
      });
    } catch (error) {
      history.attempts.push({ at, ms: Date.now() - at, status: 0, error: (error as Error).message });
      return false;
    }
    const retryAfter = response.headers['retry-after'] as string | undefined;
    history.attempts.push({ at, ms: response.ms, status: response.status, retryAfter });
    if (response.status !== 200) {
      if (response.status !== 503 && response.status !== 429)
        history.wrong.push(`The endpoint returned ${response.status}: ${JSON.stringify(response.body).slice(0, 300)}`);
      // Retrying other client errors is pointless, so the batch counts as done.
      return response.status >= 400 && response.status < 500 && response.status !== 429;
    }
    const { accepted, duplicates, rejected } = response.body;
    if (rejected.length > 0 || accepted + duplicates !== events.length)
      history.wrong.push(
        `For a batch of ${events.length} events the endpoint returned ${JSON.stringify(response.body).slice(0, 300)}`,
      );
    history.accepted += accepted;
    history.duplicates += duplicates;
    history.acknowledged.push(...events);
    return true;
  }
}

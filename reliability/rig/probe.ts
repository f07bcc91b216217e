import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { type HttpResponse, sendRequest, type HttpRequest } from './http-request.js';

/** A request and its result. */
export interface ProbeResult {
  readonly what: string;
  /** When the request was sent, in ms since 1970. */
  readonly at: number;
  readonly ms: number;
  /** The status; 0 if there was no response. */
  readonly status: number;
  readonly response?: HttpResponse;
  readonly error?: string;
}

export interface Probe extends HttpRequest {
  readonly what: string;
  readonly url: () => string;
  /** Options of the n-th request, if the requests must differ. */
  readonly each?: (n: number) => HttpRequest;
  readonly everyMs: number;
}

/** Sends requests at a steady rate, even while earlier ones are pending. */
export class Prober {
  readonly results: ProbeResult[] = [];
  private readonly stopping = new AbortController();
  private readonly running: Promise<void>[];

  constructor(
    probes: readonly Probe[],
    private readonly agent = new Agent({ keepAlive: true }),
  ) {
    this.running = probes.map((probe) => this.run(probe));
  }

  async stop(): Promise<readonly ProbeResult[]> {
    this.stopping.abort();
    await Promise.all(this.running);
    this.agent.destroy();
    return this.results;
  }

  private async run({ what, url, each, everyMs, ...request }: Probe): Promise<void> {
    const pending = new Set<Promise<void>>();
    for (let n = 0; !this.stopping.signal.aborted; n += 1) {
      const at = Date.now();
      const sending = sendRequest(url(), { ...request, ...each?.(n), agent: this.agent }).then(
        (response) => void this.results.push({ what, at, ms: response.ms, status: response.status, response }),
        (error: Error) => void this.results.push({ what, at, ms: Date.now() - at, status: 0, error: error.message }),
      );
      pending.add(sending);
      void sending.finally(() => pending.delete(sending));
      await sleep(everyMs, undefined, { signal: this.stopping.signal }).catch(() => {});
    }
    await Promise.all(pending);
  }
}

/** Returns the results of requests sent between two instants. */
export const between = (results: readonly ProbeResult[], from: number, to: number): ProbeResult[] =>
  results.filter(({ at }) => at >= from && at < to);

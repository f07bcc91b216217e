import { Agent } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../test/support/random.js';
import { cloudEvent, type Sent } from '../../test/support/upstream.js';
import { type HttpResponse, sendRequest, type HttpRequest } from './http-request.js';
import type { Keys } from './keys.js';
import type { ProbeResult } from './probe.js';

/** The longest pause between two requests. A stopping process waits longer than this for the next request. */
const MAX_PAUSE_MS = 800;

const READS = [
  '/v2/organization/metrics',
  '/v2/organization/reports?limit=20',
  '/v2/organization/threats?limit=20',
  // A long poll, which waits for the next change.
  '/v2/organization/feed?limit=1000&timeout=1000',
] as const;

/** The requests and responses of the callers of a run. */
export class Calls {
  readonly all: ProbeResult[] = [];
  readonly acknowledged: Sent[] = [];
}

/** A client with one keep-alive connection that alternately writes and reads. */
export class Caller {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 1 });
  private last: string | undefined;

  constructor(
    private readonly url: string,
    private readonly keys: Keys,
    /** The organization whose records the client reads. */
    private readonly organization: string,
    private readonly calls: Calls,
  ) {}

  /** Writes and reads until `signal` aborts. Does not retry batches that are not acknowledged. */
  async run(batches: Iterator<readonly Sent[]>, random: Random, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.write(batches.next().value as readonly Sent[]);
      await sleep(random.int(MAX_PAUSE_MS));
      await this.read(random.pick(READS));
      await sleep(random.int(MAX_PAUSE_MS));
    }
    this.agent.destroy();
  }

  /** Sends a batch of events. @returns whether the batch was acknowledged */
  async write(events: readonly Sent[]): Promise<boolean> {
    const response = await this.call('events', '/v2/events', { key: this.keys.ingest, events: events.map(cloudEvent) });
    if (response?.status !== 200) return false;
    this.calls.acknowledged.push(...events);
    return true;
  }

  private async read(path: (typeof READS)[number]): Promise<void> {
    const isFeed = path === READS[3];
    const after = isFeed && this.last !== undefined ? `&lastEventId=${encodeURIComponent(this.last)}` : '';
    const response = await this.call(path.split('?')[0]!, path + after, { key: this.keys.read[this.organization]! });
    if (isFeed && response?.status === 200) this.last = (response.body as { id: string }[]).at(-1)?.id ?? this.last;
  }

  private async call(what: string, path: string, request: HttpRequest): Promise<HttpResponse | undefined> {
    const at = Date.now();
    try {
      const response = await sendRequest(this.url + path, { ...request, agent: this.agent });
      const { ms, status } = response;
      this.calls.all.push({ what, at, ms, status, ...(status >= 300 && { response }) });
      return response;
    } catch (error) {
      this.calls.all.push({ what, at, ms: Date.now() - at, status: 0, error: (error as Error).message });
      return undefined;
    }
  }
}

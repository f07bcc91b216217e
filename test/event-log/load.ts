import { randomBytes, randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { Unavailable } from '../../src/errors.js';
import type { EventLog, NewEvent } from '../../src/event-log/event-log.js';
import { busyFactor, eventually } from '../support/eventually.js';

const WRITERS = 8;
const ACKNOWLEDGEMENTS_PER_ROUND = 60;

const someEvent = (): NewEvent => ({ id: randomUUID(), type: 'ThreatStatusChanged', data: { n: 1 }, metadata: {} });

/** The timeout of conditions that are awaited during a fault. */
export const TIMEOUT_MS = 25_000 * busyFactor();

/**
 * Writers that retry each append with the same event id until it is acknowledged, and a follower, during a fault.
 * `recount` compares what the writers and the follower recorded with the content of the store.
 */
export class Load {
  readonly acknowledged = new Map<string, string[]>();
  readonly seen: string[] = [];
  longestCallMs = 0;
  failures = 0;
  private isStopping = false;
  private readonly abort = new AbortController();
  private readonly running: Promise<unknown>[] = [];
  private readonly organization = randomBytes(6).toString('hex');

  constructor(private readonly log: EventLog) {}

  async start(): Promise<this> {
    const after = await this.log.head();
    const follow = this.log.subscribe(
      after,
      async ({ events }) => {
        for (const { stream, id } of events) if (stream.includes(this.organization)) this.seen.push(id);
      },
      this.abort.signal,
    );
    const writers = Array.from({ length: WRITERS }, (_, writer) => this.write(`threat-${this.organization}:${writer}`));
    this.running.push(follow, ...writers);
    return this;
  }

  get count(): number {
    return [...this.acknowledged.values()].reduce((sum, ids) => sum + ids.length, 0);
  }

  /** Waits until this many more events are acknowledged. */
  async goOn(more = ACKNOWLEDGEMENTS_PER_ROUND): Promise<void> {
    const target = this.count + more;
    await eventually('more events are acknowledged', () => this.count >= target, TIMEOUT_MS);
  }

  async stop(): Promise<void> {
    this.isStopping = true;
    const [, ...writers] = this.running;
    await Promise.all(writers);
    // The follower receives all repeated events before the event that is appended last.
    const last = `threat-${this.organization}:last`;
    await this.append(last, []);
    const [id] = this.acknowledged.get(last)!;
    await eventually('the follower has the last event', () => this.seen.includes(id!), TIMEOUT_MS);
    this.abort.abort();
    await this.running[0];
  }

  /** Ends the load at once. A load that a failed test leaves behind would write beside the specs that follow. */
  end(): void {
    this.isStopping = true;
    this.abort.abort();
  }

  /** Checks that each acknowledged event is stored exactly once and was delivered exactly once to the follower. */
  async recount(): Promise<void> {
    for (const [stream, ids] of this.acknowledged)
      expect((await this.log.readStream(stream, 0n, 100_000)).map(({ id }) => id)).toEqual(ids);
    const all = [...this.acknowledged.values()].flat();
    expect([...this.seen].sort()).toEqual(all.sort());
  }

  private async write(stream: string): Promise<void> {
    const ids: string[] = [];
    while (!this.isStopping) await this.append(stream, ids);
  }

  /** Appends one event to the stream, and retries with the same event id until the event is acknowledged. */
  private async append(stream: string, ids: string[]): Promise<void> {
    this.acknowledged.set(stream, ids);
    const event = someEvent();
    const expected = ids.length === 0 ? 'no-stream' : BigInt(ids.length - 1);
    await eventually(`${stream} accepts an append`, async () => {
      const sentAt = performance.now();
      try {
        await this.log.append(stream, expected, [event]);
        ids.push(event.id);
        return true;
      } catch (error) {
        if (!(error instanceof Unavailable)) throw error;
        this.failures++;
        return false;
      } finally {
        this.longestCallMs = Math.max(this.longestCallMs, performance.now() - sentAt);
      }
    });
  }
}

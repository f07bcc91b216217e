import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import type { RunContext } from './run-context.js';

const EVERY_MS = 100;

/** A copy of the reports of an organization, updated from the feed. After a 410 it starts over, as documented. */
export class FeedCopy {
  /** How often the copy started over. */
  restarts = 0;
  private readonly known = new Set<string>();
  private last: string | undefined;
  private readonly stopping = new AbortController();
  private readonly following: Promise<void>;

  private constructor(
    private readonly url: string,
    private readonly key: string,
  ) {
    this.following = this.follow();
  }

  static start(context: RunContext, url: string, key: string): FeedCopy {
    const copy = new FeedCopy(url, key);
    context.onEnd(() => copy.stop());
    return copy;
  }

  get subjects(): string[] {
    return [...this.known];
  }

  has(subject: string): boolean {
    return this.known.has(subject);
  }

  async stop(): Promise<void> {
    this.stopping.abort();
    await this.following;
  }

  private async follow(): Promise<void> {
    for (; !this.stopping.signal.aborted; await sleep(EVERY_MS)) {
      const from = this.last === undefined ? '' : `&lastEventId=${encodeURIComponent(this.last)}`;
      const url = `${this.url}/v2/organization/feed?types=report&limit=1000&timeout=1000${from}`;
      const response = await sendRequest(url, { key: this.key }).catch(() => undefined);
      if (response?.status === 410) {
        this.last = undefined;
        this.known.clear();
        this.restarts += 1;
      }
      for (const { id, subject } of response?.status === 200
        ? (response.body as { id: string; subject: string }[])
        : []) {
        this.last = id;
        this.known.add(subject);
      }
    }
  }
}

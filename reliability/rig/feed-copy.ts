import { setTimeout as sleep } from 'node:timers/promises';
import { sendRequest } from './http-request.js';
import { repeat } from './repeat.js';
import type { RunContext } from './run-context.js';

const EVERY_MS = 100;

/** A copy of the reports of an organization, updated from the feed. After a 410 it starts over, as documented. */
export class FeedCopy {
  private readonly known = new Set<string>();
  private last: string | undefined;
  /** Ends the updates. */
  readonly stop: () => Promise<void>;

  constructor(
    context: RunContext,
    private readonly url: string,
    private readonly key: string,
  ) {
    this.stop = repeat(context, () => this.update());
  }

  get subjects(): string[] {
    return [...this.known];
  }

  has(subject: string): boolean {
    return this.known.has(subject);
  }

  private async update(): Promise<void> {
    const from = this.last === undefined ? '' : `&lastEventId=${encodeURIComponent(this.last)}`;
    const url = `${this.url}/v2/organization/feed?types=report&limit=1000&timeout=1000${from}`;
    const response = await sendRequest(url, { key: this.key }).catch(() => undefined);
    if (response?.status === 410) {
      this.last = undefined;
      this.known.clear();
    }
    for (const { id, subject } of response?.status === 200
      ? (response.body as { id: string; subject: string }[])
      : []) {
      this.last = id;
      this.known.add(subject);
    }
    await sleep(EVERY_MS);
  }
}

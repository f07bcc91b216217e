import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../../test/support/random.js';
import { sendRequest } from './http-request.js';

export const KINDS = ['report', 'threat', 'takedown', 'verdict'] as const;
export type Kind = (typeof KINDS)[number];

type Item = { readonly id: string; readonly updatedAt?: string };

interface Element {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data?: Item;
}

/** The durable state of a reader, which is written atomically. */
interface DurableState {
  readonly copy: ReadonlyMap<string, Item>;
  /** The id of the last applied element. */
  readonly last: string | undefined;
}

export interface FeedReaderOptions {
  readonly organization: string;
  readonly key: string;
  readonly kinds: readonly Kind[];
}

const keyOf = (kind: string, id: string): string => `${kind} ${id}`;
const kindOf = ({ type }: Element): string => type.slice(type.lastIndexOf('.') + 1);

/**
 * A reader that keeps a copy by following the feed. Random kills are simulated: the reader loses what it has not
 * written.
 */
export class FeedReader {
  private state: DurableState = { copy: new Map(), last: undefined };
  private backup = this.state;
  private turn = 0;
  kills = 0;
  readonly findings: string[] = [];

  constructor(
    private readonly options: FeedReaderOptions,
    /** The API instances, which are used in turn. */
    private readonly urls: readonly (() => string)[],
    private readonly random: Random,
  ) {}

  /** Reads until `signal` aborts. After each random kill it continues from its durable state. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      if (this.random.chance(0.03)) this.backup = this.state;
      if (this.random.chance(0.02)) this.state = this.backup;
      const dies = this.random.chance(0.2);
      // A kill happens during a request, or after the response but before the state is written.
      const timeoutMs = dies && this.random.chance(0.5) ? 1 + this.random.int(20) : 20_000;
      const next = await this.next(this.random.pick([1, 7, 50, 1_000]), 300, timeoutMs);
      if (dies) this.kills += 1;
      else if (next !== undefined) this.state = next;
    }
  }

  /** Reads until the feed has nothing new. @param ms the timeout */
  async catchUp(ms: number): Promise<void> {
    for (const until = Date.now() + ms; Date.now() < until;) {
      const next = await this.next(1_000, 0, 20_000);
      if (next === this.state) return;
      if (next !== undefined) this.state = next;
    }
    this.findings.push(`The reader did not catch up with the feed within ${ms} ms`);
  }

  /** Returns the differences between the copy and the lists. */
  async compare(): Promise<string[]> {
    const listed = new Map<string, Item>();
    for (const kind of this.options.kinds)
      for (let cursor = ''; ;) {
        const { status, body } = await sendRequest(
          `${this.url()}/v2/organization/${kind}s?limit=1000${cursor}`,
          this.requestOptions(20_000),
        );
        if (status !== 200) return [`The list of ${kind}s returned status ${status}`];
        for (const item of body.items as Item[]) listed.set(keyOf(kind, item.id), item);
        if (body.nextCursor === undefined) break;
        cursor = `&cursor=${body.nextCursor}`;
      }
    const who = `${this.options.organization}’s copy of ${this.options.kinds.join()}`;
    const { copy } = this.state;
    return [
      ...[...listed].filter(([key, item]) => JSON.stringify(copy.get(key)) !== JSON.stringify(item)),
      ...[...copy].filter(([key]) => !listed.has(key)),
    ].map(([key]) => `${who} has ${show(copy.get(key))} as ${key}, but the list has ${show(listed.get(key))}`);
  }

  get size(): number {
    return this.state.copy.size;
  }

  /** Returns the items of the copy by kind and id. */
  items(): ReadonlyMap<string, unknown> {
    return this.state.copy;
  }

  private url(): string {
    return this.urls[this.turn++ % this.urls.length]!();
  }

  private requestOptions(timeoutMs: number) {
    return { key: this.options.key, timeoutMs };
  }

  /**
   * Returns the state after the next response: the current state if nothing is new, undefined if the request failed.
   */
  private async next(limit: number, timeout: number, timeoutMs: number): Promise<DurableState | undefined> {
    const { copy, last } = this.state;
    const query = new URLSearchParams({
      limit: String(limit),
      timeout: String(timeout),
      types: this.options.kinds.join(),
      ...(last !== undefined && { lastEventId: last }),
    });
    const response = await sendRequest(
      `${this.url()}/v2/organization/feed?${query}`,
      this.requestOptions(timeoutMs),
    ).catch(() => undefined);
    if (response === undefined) return undefined;
    if (response.status === 429 || response.status === 503) {
      await sleep(50);
      return undefined;
    }
    if (response.status !== 200) {
      this.findings.push(`The feed returned status ${response.status}: ${JSON.stringify(response.body)}`);
      await sleep(50);
      return response.status === 410 ? { copy: new Map(), last: undefined } : undefined;
    }
    const elements = response.body as Element[];
    if (elements.length === 0) return this.state;
    const after = new Map(copy);
    for (const element of elements) {
      const { subject, data } = element;
      const key = keyOf(kindOf(element), subject);
      const previous = after.get(key)?.updatedAt;
      if (previous !== undefined && data?.updatedAt !== undefined && data.updatedAt < previous)
        this.findings.push(`${key} of ${data.updatedAt} arrived after ${previous}`);
      if (data === undefined) after.delete(key);
      else after.set(key, data);
    }
    return { copy: after, last: elements.at(-1)!.id };
  }
}

const show = (item: Item | undefined): string => (item === undefined ? 'nothing' : JSON.stringify(item));

import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { hashOf } from '../../docs/examples/local-list.js';
import type { Random } from '../../test/support/random.js';
import { cloudEvent, sentStatus } from '../../test/support/upstream.js';
import { sendRequest } from './http-request.js';

/** How many hosts get statuses in turn. */
const HOSTS = 200;
const PAUSE_MS = 150;
const RETRY_MS = 50;
const LOOK_EVERY_MS = 40;
/** How long a status that expires lasts, in ms. */
const LASTS_MS = [2_000, 6_000] as const;
/** How many hosts are blocked for good, for their arrival in a version to be measured. */
const MARKED = 40;

/** Names the addition or the removal of a host. */
const changeOf = (sign: '+' | '-', host: string): string => sign + hashOf(`${host}/`).toString(16).padStart(16, '0');

/** Changes own statuses all the time, and measures how soon a change that was acknowledged is in a version. */
export class ListStatuses {
  /** Every content that got a status. */
  readonly contents = new Set<string>();
  readonly findings: string[] = [];
  acknowledged = 0;
  /** From the acknowledgement to the version, in ms, in the order of the versions. */
  readonly delays: number[] = [];
  /** The changes that are in no version yet: the sign and the hash, and when the change was acknowledged. */
  private readonly pending = new Map<string, number>();
  /** The hosts of pending additions. */
  private readonly hostOf = new Map<string, string>();
  private readonly marked: string[] = [];
  private markers = 0;
  private createdAt = Date.now();
  private readAt = 0;

  /** @param url the URL of an API process, another one after each failure */
  constructor(
    private readonly url: () => string,
    private readonly key: string,
    private readonly pool: Pool,
    private readonly random: Random,
  ) {}

  get waiting(): number {
    return this.pending.size;
  }

  /** Changes statuses until `signal` aborts. */
  async keepChanging(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.change();
      await sleep(PAUSE_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Reads the stored versions until `signal` aborts. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.read();
      await sleep(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** Forgets the removals that the next version repeats without naming them. Called when tables have been put back. */
  forgetRemovals(): void {
    for (const change of this.pending.keys()) if (change.startsWith('-')) this.pending.delete(change);
  }

  private async change(): Promise<void> {
    const { random } = this;
    const marker = `marker-${this.markers++}.example`;
    const freed = this.marked.length > MARKED ? this.marked.shift() : undefined;
    const host = `h${random.int(HOSTS)}.example`;
    const brief = `h${random.int(HOSTS)}.example/brief`;
    const expiresAt = Date.now() + LASTS_MS[0] + random.int(LASTS_MS[1] - LASTS_MS[0]);
    const changes: [string, object][] = [
      [marker, { status: 'BLOCKED' }],
      [host, { status: random.pick(['BLOCKED', 'UNKNOWN', 'ALLOWED']) }],
      [`login.${host}`, { status: random.pick(['BLOCKED', 'UNKNOWN', 'ALLOWED']) }],
      [brief, { status: 'BLOCKED', expiresAt: new Date(expiresAt).toISOString() }],
      ...(freed === undefined ? [] : [[freed, { status: 'UNKNOWN' }] as [string, object]]),
    ];
    const events = changes.map(([content, data]) => {
      this.contents.add(content);
      const createdAt = new Date((this.createdAt = Math.max(this.createdAt + 1, Date.now()))).toISOString();
      const id = randomUUID();
      return cloudEvent(sentStatus(id, { asset: { type: 'URL', content }, createdAt, ...data }, id));
    });
    // A version may have them before the response arrives.
    const awaited = [changeOf('+', marker), ...(freed === undefined ? [] : [changeOf('-', freed)])];
    for (const change of awaited) this.pending.set(change, Infinity);
    this.hostOf.set(awaited[0]!, marker);
    const at = await this.send(events);
    this.acknowledged += events.length;
    for (const change of awaited) if (this.pending.has(change)) this.pending.set(change, at);
  }

  /** Sends events until they are acknowledged. @returns when */
  private async send(events: readonly object[]): Promise<number> {
    for (;;) {
      const asked = sendRequest(`${this.url()}/v2/events`, { key: this.key, events, timeoutMs: 5_000 });
      const response = await asked.catch(() => undefined);
      if (response?.status === 200) return Date.now();
      if (response !== undefined && response.status !== 503 && this.findings.length < 3)
        this.findings.push(`Statuses got ${response.status}: ${JSON.stringify(response.body)}`);
      await sleep(RETRY_MS);
    }
  }

  private async read(): Promise<void> {
    const { rows } = await this.pool.query<{ number: string; removed: Buffer; added: Buffer }>(
      `select number, removed, added from service.list_versions
       where name = 'all-8b' and (number > $1 or $1 > (select number from service.lists where name = 'all-8b'))
       order by number`,
      [this.readAt],
    );
    const now = Date.now();
    for (const { number, removed, added } of rows) {
      this.readAt = Number(number);
      for (const [sign, hashes] of [
        ['-', removed],
        ['+', added],
      ] as const)
        for (let at = 0; at < hashes.length; at += 8) this.arrived(sign + hashes.toString('hex', at, at + 8), now);
    }
  }

  private arrived(change: string, now: number): void {
    const at = this.pending.get(change);
    if (at === undefined) return;
    this.pending.delete(change);
    this.delays.push(Math.max(0, now - at));
    const host = this.hostOf.get(change);
    this.hostOf.delete(change);
    // Only what is in a version is freed, because otherwise no version would name it.
    if (host !== undefined) this.marked.push(host);
  }
}

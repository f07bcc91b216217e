import type { Pool } from 'pg';
import { parentPages } from '../../assets/parent-pages.js';
import { addressKey, assetKey, urlKey } from '../../assets/asset-key.js';
import type { ParsedContent } from '../../assets/parse-content.js';
import { FAILED, hosted, NOT_FOUND, type Opinion } from '../opinion.js';
import type { RowOf } from '../../postgres/statement.js';
import { STATUS_CHANGES, STATUS_PAGE } from './statements.js';
import { Backoff, pause } from '../../flow/retry.js';
import type { HostingSuffixes } from '../lists/hosting-suffixes.js';

const POLL_MS = 250;
const MAX_BACK_OFF_MS = 2_000;
const MAX_NAME_LENGTH = 253;

type Row = RowOf<typeof STATUS_CHANGES>;

const START = { position: -1, assetHash: '' };

/**
 * This service's own asset statuses in memory, polled from the projection: read completely at the start, then four
 * times a second. While the database is unavailable the last known statuses keep being used.
 */
export class OwnStatuses {
  private statuses = new Map<string, Opinion>();
  private generation: string | null | undefined;
  private reached = START;
  private current: number | undefined;
  private isFailing = false;

  constructor(
    private readonly pool: Pool,
    private readonly suffixes: HostingSuffixes,
    /** Called when the statuses can no longer be refreshed, and when they can again. */
    private readonly report: (sentence: string, level: 'log' | 'warn') => void,
  ) {}

  /** Assets with a status. */
  get known(): number {
    return this.statuses.size;
  }

  /** ms since the last successful read; undefined if there was none. */
  get age(): number | undefined {
    return this.current === undefined ? undefined : performance.now() - this.current;
  }

  ask(reading: ParsedContent): Opinion {
    if (this.current === undefined) return FAILED;
    const { statuses } = this;
    const { keys, involved } = reading;
    const other = involved === undefined ? undefined : statuses.get(addressKey(involved));
    if (other?.status === 'BLOCKED') return other;
    for (let index = 0; index < keys.length; index += 1) {
      const status = statuses.get(keys[index]!);
      if (status === undefined) continue;
      // A page above the asset is nearer than the page's host.
      const isHost = index > 0 && keys[index]!.startsWith('URL:');
      return (isHost ? this.fromPage(reading) : undefined) ?? status;
    }
    return this.fromPage(reading) ?? this.fromHost(reading);
  }

  private fromPage(reading: ParsedContent): Opinion | undefined {
    for (const { key, place } of parentPages(reading)) {
      const status = this.statuses.get(key);
      if (status !== undefined) return inherited(status, place);
    }
    return undefined;
  }

  private fromHost({ host, isDnsName, isSharedHost, isAtHost }: ParsedContent): Opinion {
    if (host === undefined) return NOT_FOUND;
    if (isSharedHost) {
      const carrier = this.statuses.get(urlKey(host)) ?? this.above(host)?.status;
      return carrier === undefined ? NOT_FOUND : hosted(carrier.match);
    }
    if (!isDnsName) return NOT_FOUND;
    const status = isAtHost ? this.statuses.get(urlKey(host)) : undefined;
    const parent = status === undefined ? this.above(host) : { status, place: host.length };
    if (parent === undefined) return NOT_FOUND;
    const boundary = this.suffixes.boundaryOf(host);
    if (parent.place > boundary.suffix.length) return inherited(parent.status, parent.place);
    // A public suffix belongs to nobody; a name under a hosting suffix to somebody else.
    return boundary.owner === 'hosting' && !this.suffixes.isRegistrySuffix(host.slice(-parent.place))
      ? hosted(parent.status.match)
      : NOT_FOUND;
  }

  /** Polls until `signal` aborts. */
  async follow(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(2 * POLL_MS, MAX_BACK_OFF_MS);
    while (!signal.aborted) {
      const isRead = await this.refresh();
      if (isRead) backoff.reset();
      await pause(isRead ? POLL_MS : backoff.next(), signal);
    }
  }

  /** Reads what is new. Never rejects. */
  async refresh(): Promise<boolean> {
    try {
      await this.read();
      if (this.isFailing) this.report('Asset statuses are being refreshed again', 'log');
      this.isFailing = false;
      return true;
    } catch (error) {
      if (!this.isFailing)
        this.report(`Asset statuses cannot be refreshed: ${(error as Error).message}; retrying`, 'warn');
      this.isFailing = true;
      return false;
    }
  }

  private async read(): Promise<void> {
    let { statuses, reached, generation } = this;
    for (;;) {
      const rows = await STATUS_CHANGES.run(this.pool, reached);
      const found = rows[0]!.generation;
      if (found !== generation) {
        // Filled next to the map in use, so that no answer comes from half of it.
        generation = found;
        statuses = new Map();
        if (reached.position !== START.position) {
          reached = START;
          continue;
        }
      }
      for (const row of rows) apply(statuses, row);
      const last = rows.at(-1)!;
      if (last.position !== null) reached = { position: last.position, assetHash: last.assetHash! };
      if (rows.length < STATUS_PAGE) break;
    }
    this.statuses = statuses;
    this.reached = reached;
    this.generation = generation;
    this.current = performance.now();
  }

  /** The nearest domain above the host that has a status. */
  private above(host: string): { readonly status: Opinion; readonly place: number } | undefined {
    // Longer names are not DNS names; without the cut, a sender of many labels could make this loop long.
    let dot = host.indexOf('.', host.length - MAX_NAME_LENGTH - 2);
    for (let next = host.indexOf('.', dot + 1); next !== -1; next = host.indexOf('.', next + 1)) {
      const status = this.statuses.get(urlKey(host.slice(dot + 1)));
      if (status !== undefined) return { status, place: host.length - dot - 1 };
      dot = next;
    }
    return undefined;
  }
}

const inherited = (opinion: Opinion, place: number): Opinion => ({ ...opinion, reason: 'parent-domain', place });

/** A key that an earlier version stored, as today's rules read it. */
const currentKey = (key: string): string => {
  const colon = key.indexOf(':');
  return assetKey({ type: key.slice(0, colon), content: key.slice(colon + 1) });
};

const apply = (statuses: Map<string, Opinion>, { asset, content, status, createdAt }: Row): void => {
  if (asset === null) return;
  const key = content === null ? currentKey(asset) : asset;
  const match = content ?? key.slice(key.indexOf(':') + 1);
  // UNKNOWN counts as no status.
  if (status === 'UNKNOWN' || status === null) statuses.delete(key);
  else statuses.set(key, { status, match, since: createdAt ?? undefined });
};

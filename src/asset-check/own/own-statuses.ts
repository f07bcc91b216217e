import type { Pool } from 'pg';
import { MAX_NAME_LENGTH } from '../../assets/location.js';
import { parentPages } from '../../assets/location-asset.js';
import { assetKey } from '../../assets/asset-key.js';
import { urlKey, type ParsedContent } from '../../assets/asset.js';
import { FAILED, hostingResult, NOT_FOUND, type SourceResult } from '../verdict.js';
import type { RowOf } from '../../postgres/statement.js';
import { STATUS_CHANGES, STATUS_PAGE } from './status-entries.js';
import { parentHashes } from '../lists/host-table.js';
import { StatusTable, TooManyStatuses } from './status-table.js';
import type { EventLog, Place } from '../../event-log/event-log.js';
import { notReached } from '../../http/consistency.js';
import { coalesce } from '../../flow/shared-work.js';
import { Backoff, pause } from '../../flow/time.js';
import type { HostingSuffixes } from '../lists/hosting-suffixes.js';

const POLL_MS = 250;
const MAX_BACK_OFF_MS = 2_000;
/**
 * The pause after the statuses exceeded the memory limit. The pause is long, because each attempt reads all statuses
 * again.
 */
const TOO_MANY_STATUSES_PAUSE_MS = 60_000;
const NO_KEYS: readonly string[] = [];
/** Maximum number of changed keys that are kept for `takeChanges`, some 1 MB. */
const MAX_CHANGES = 10_000;

type Row = RowOf<typeof STATUS_CHANGES>;

/**
 * The state of the table from which rows were read. If anything other than new events changes the state, all rows are
 * read again.
 */
interface SourceState {
  readonly table: string | null;
  readonly checkpoint: number;
  /**
   * The place of the last event that the projection has applied. Undefined if it has not applied an event yet, or if
   * the log no longer has the event.
   */
  readonly lastEvent: Place | undefined;
}

/** The statuses read so far, and where to continue reading. */
interface Snapshot {
  readonly statuses: StatusTable;
  readonly position: number;
  readonly assetHash: string;
  /** Undefined before the first page. */
  readonly state: SourceState | undefined;
  /** The checkpoint at the first page. */
  readonly since: number;
}

/**
 * Keeps this service's own asset statuses in memory. All rows are read at the start, and changes are then polled four
 * times a second. While the database is unavailable, the statuses that were read last stay in use.
 */
export class OwnStatuses {
  private snapshot: Snapshot;
  private readAt: number | undefined;
  private isFailing = false;
  private hasTooManyStatuses = false;
  /** The keys that have changed since `takeChanges` was called last; undefined if they are not known. */
  private changes: Set<string> | undefined;
  private readonly readOnce = coalesce(() => this.read());

  constructor(
    private readonly pool: Pool,
    private readonly log: Pick<EventLog, 'has' | 'readStream'>,
    private readonly suffixes: HostingSuffixes,
    /** Maximum memory of the statuses in bytes. Twice as much memory is used while all rows are read again. */
    private readonly maxBytes: number,
    /** Called when refreshing starts to fail, and when refreshing works again. */
    private readonly report: (sentence: string, level: 'log' | 'warn') => void,
  ) {
    this.snapshot = this.emptySnapshot();
  }

  /** Number of assets with a status. */
  get known(): number {
    return this.snapshot.statuses.size;
  }

  /** The position of the log that the statuses include; -1 before the first read. */
  get position(): number {
    return this.snapshot.state?.checkpoint ?? -1;
  }

  get bytes(): number {
    return this.snapshot.statuses.bytes;
  }

  /** Time since the last successful read, in ms; undefined if no read has succeeded yet. */
  get age(): number | undefined {
    return this.readAt === undefined ? undefined : performance.now() - this.readAt;
  }

  check(parsed: ParsedContent): SourceResult {
    if (this.readAt === undefined) return FAILED;
    const { statuses } = this.snapshot;
    const { keys, blockingKeys = NO_KEYS } = parsed;
    for (const key of blockingKeys) {
      const status = statuses.get(key);
      if (status?.status === 'BLOCKED') return status;
    }
    for (let index = 0; index < keys.length; index += 1) {
      const status = statuses.get(keys[index]!);
      if (status === undefined) continue;
      // The status of a parent page takes precedence over the status of the host, which is less specific.
      const isHost = index > 0 && keys[index]!.startsWith('URL:');
      return (isHost ? this.resultOfParentPage(parsed) : undefined) ?? status;
    }
    return this.resultOfParentPage(parsed) ?? this.resultOfHost(parsed);
  }

  /** Below a page or a profile, only BLOCKED is inherited, because others may publish there. */
  private resultOfParentPage(parsed: ParsedContent): SourceResult | undefined {
    for (const { key, matchedLength } of parentPages(parsed)) {
      const status = this.snapshot.statuses.get(key);
      if (status?.status === 'BLOCKED') return inherited(status, matchedLength);
    }
    return undefined;
  }

  private resultOfHost({ host, isDnsName, isSharedHost, isOnHost }: ParsedContent): SourceResult {
    if (host === undefined) return NOT_FOUND;
    if (isSharedHost) {
      const hostStatus = this.snapshot.statuses.get(urlKey(host)) ?? this.nearestParent(host)?.status;
      return hostStatus === undefined ? NOT_FOUND : hostingResult(hostStatus.match);
    }
    if (!isDnsName) return NOT_FOUND;
    const status = isOnHost ? this.snapshot.statuses.get(urlKey(host)) : undefined;
    const parent = status === undefined ? this.nearestParent(host) : { status, matchedLength: host.length };
    if (parent === undefined) return NOT_FOUND;
    const boundary = this.suffixes.boundaryOf(host);
    if (parent.matchedLength > boundary.suffix.length) return inherited(parent.status, parent.matchedLength);
    // Names under the same public or hosting suffix belong to different people, so they do not inherit the status of
    // the suffix.
    return boundary.owner === 'hosting' && !this.suffixes.isRegistrySuffix(host.slice(-parent.matchedLength))
      ? hostingResult(parent.status.match)
      : NOT_FOUND;
  }

  /** The key and the status of each asset. */
  get entries(): ReturnType<StatusTable['statuses']> {
    return this.snapshot.statuses.statuses();
  }

  /** Yields the key and the status of each asset whose key has this hash, which is a result of `hashOfText`. */
  withHash(hash: number): ReturnType<StatusTable['statuses']> {
    return this.snapshot.statuses.withHash(hash);
  }

  /**
   * Returns the keys whose status may have changed since the last call. For one caller.
   * @returns undefined if any may have: at the first call, after all rows were read again, or after many changes
   */
  takeChanges(): ReadonlySet<string> | undefined {
    const { changes } = this;
    this.changes = new Set();
    return changes;
  }

  /** Polls changes until `signal` aborts. */
  async pollUntilStopped(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(2 * POLL_MS, MAX_BACK_OFF_MS);
    while (!signal.aborted) {
      const isRead = await this.refresh();
      if (isRead) backoff.reset();
      await pause(isRead ? POLL_MS : this.hasTooManyStatuses ? TOO_MANY_STATUSES_PAUSE_MS : backoff.next(), signal);
    }
  }

  /**
   * Reads changes unless the statuses already include `position` of the log.
   * @throws Unavailable if the statuses do not include `position` after the read
   */
  async catchUpTo(position: number): Promise<void> {
    if (this.position >= position) return;
    await this.refresh();
    if (this.position < position) throw notReached();
  }

  /**
   * Reads changes. Concurrent calls share one read that starts after the calls. Never rejects; returns whether the read
   * succeeded.
   */
  async refresh(): Promise<boolean> {
    try {
      await this.readOnce();
      if (this.isFailing) this.report('Asset statuses are being refreshed again', 'log');
      this.isFailing = false;
      this.hasTooManyStatuses = false;
      return true;
    } catch (error) {
      this.hasTooManyStatuses = error instanceof TooManyStatuses;
      if (!this.isFailing)
        this.report(`Asset statuses cannot be refreshed: ${(error as Error).message}; retrying`, 'warn');
      this.isFailing = true;
      return false;
    }
  }

  private async read(): Promise<void> {
    let { snapshot } = this;
    for (;;) {
      const { position, assetHash, state: known } = snapshot;
      const rows = await STATUS_CHANGES.run(this.pool, { position, assetHash });
      const state = await this.stateOf(rows[0]!, known);
      if (state === undefined) {
        // The new snapshot replaces the snapshot in use only when the new snapshot is complete.
        snapshot = this.emptySnapshot();
        continue;
      }
      const since = known === undefined ? state.checkpoint : snapshot.since;
      // The key of a redacted asset is no longer known, so its status can only be left out by reading all rows again.
      if (rows.some(({ asset, position: at }) => asset === '' && at! > since)) {
        snapshot = this.emptySnapshot();
        continue;
      }
      const { statuses } = snapshot;
      for (const row of rows) this.noteChange(apply(statuses, row));
      const last = rows.at(-1)!;
      const reached = last.position === null ? snapshot : { position: last.position, assetHash: last.assetHash! };
      snapshot = { statuses, position: reached.position, assetHash: reached.assetHash, state, since };
      if (rows.length < STATUS_PAGE) break;
    }
    if (snapshot.statuses !== this.snapshot.statuses) this.changes = undefined;
    this.snapshot = snapshot;
    this.readAt = performance.now();
  }

  private noteChange(key: string | undefined): void {
    if (key === undefined || this.changes === undefined) return;
    if (this.changes.size < MAX_CHANGES) this.changes.add(key);
    else this.changes = undefined;
  }

  private emptySnapshot(): Snapshot {
    return { statuses: new StatusTable(this.maxBytes), position: -1, assetHash: '', state: undefined, since: -1 };
  }

  /**
   * Returns the state that a page of rows was read from. The log is read after the page, so that events that were lost
   * before the page was read are detected now. Events that are lost later are detected with the next page.
   * @returns undefined if the state does not continue `known`, so that all rows must be read again
   */
  private async stateOf(row: Row, known: SourceState | undefined): Promise<SourceState | undefined> {
    const { table, checkpoint } = row;
    if (known === undefined) return { table, checkpoint, lastEvent: await this.lastEventOf(row) };
    if (table !== known.table) return undefined;
    if (known.lastEvent !== undefined && !(await this.log.has(known.lastEvent))) return undefined;
    const isSame = checkpoint === known.checkpoint && row.eventId === known.lastEvent?.event;
    const lastEvent = isSame ? known.lastEvent : await this.lastEventOf(row);
    // The previous state has no event that could be looked up in the log, so it is unknown whether this state continues
    // the previous state.
    return known.lastEvent === undefined && lastEvent !== undefined ? undefined : { table, checkpoint, lastEvent };
  }

  private async lastEventOf({ stream, revision, eventId }: Row): Promise<Place | undefined> {
    if (stream === null || revision === null) return undefined;
    const [last] = await this.log.readStream(stream, BigInt(revision), 1);
    return last?.id === eventId ? { position: last.position, event: last.id, recordedAt: last.recordedAt } : undefined;
  }

  /** Returns the nearest parent domain with a status, and the length of that domain. */
  private nearestParent(host: string): { readonly status: SourceResult; readonly matchedLength: number } | undefined {
    // Names longer than `MAX_NAME_LENGTH` are not DNS names. The limit keeps the loop short for hosts with thousands of
    // labels.
    const parents = parentHashes(host, host.length - MAX_NAME_LENGTH - 2, urlKey(''));
    for (const { start, hash } of parents.reverse()) {
      if (!this.snapshot.statuses.mayHave(hash)) continue;
      const status = this.snapshot.statuses.get(urlKey(host.slice(start)));
      if (status !== undefined) return { status, matchedLength: host.length - start };
    }
    return undefined;
  }
}

const inherited = (result: SourceResult, matchedLength: number): SourceResult => ({
  ...result,
  reason: 'parent-domain',
  matchedLength,
});

/** Normalizes a key that an earlier version stored, because the rules for keys may have changed. */
const currentKey = (key: string): string => {
  const colon = key.indexOf(':');
  return assetKey({ type: key.slice(0, colon), content: key.slice(colon + 1) });
};

/** @returns the key of the row; undefined if it has none */
const apply = (statuses: StatusTable, { asset, content, status, createdAt }: Row): string | undefined => {
  if (asset === null || asset === '') return undefined;
  const key = content === null ? currentKey(asset) : asset;
  const match = content ?? key.slice(key.indexOf(':') + 1);
  // The status UNKNOWN removes the asset.
  if (status === 'UNKNOWN' || status === null) statuses.delete(key);
  else statuses.set(key, { status, match, since: createdAt ?? undefined });
  return key;
};

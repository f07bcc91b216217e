import type { Pool } from 'pg';
import { assetKey } from '../../assets/asset-key.js';
import type { ParsedContent } from '../../assets/asset.js';
import { FAILED, type SourceResult } from '../verdict.js';
import type { RowOf } from '../../postgres/statement.js';
import { STATUS_CHANGES, STATUS_PAGE } from './status-entries.js';
import { StatusReading } from './status-reading.js';
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
/** How long statuses that have expired are kept in memory, in case the clock is set back. */
const KEPT_AFTER_EXPIRY_MS = 86_400_000;
/** How often statuses that have expired are removed from memory, in ms. */
const DELETE_EXPIRED_MS = 60_000;
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
  private includedUntil = 0;
  private isFailing = false;
  private hasTooManyStatuses = false;
  /** Value of `performance.now()`. */
  private expiredDeletedAt = 0;
  /** The keys that have changed since `takeChanges` was called last; undefined if they are not known. */
  private changes: Set<string> | undefined;
  /** The instant of the last call of `takeChanges`, in ms. */
  private changesTakenAt = 0;
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

  /** The statuses include everything that was acknowledged before this instant, in ms by the clock of the log. */
  get asOf(): number {
    return this.includedUntil;
  }

  /** Changes whenever an event has changed a status. */
  get version(): string {
    const { position, assetHash, since } = this.snapshot;
    return `${position} ${assetHash} ${since}`;
  }

  get bytes(): number {
    return this.snapshot.statuses.bytes;
  }

  /** Time since the last successful read, in ms; undefined if no read has succeeded yet. */
  get age(): number | undefined {
    return this.readAt === undefined ? undefined : performance.now() - this.readAt;
  }

  /**
   * Returns the first instant after `from` (ms) at which a status expires; undefined if none does. Reads every status, if
   * any expires.
   */
  nextExpiry(from: number): number | undefined {
    return this.snapshot.statuses.nextExpiry(from);
  }

  /** @param now the instant whose statuses apply, in ms */
  check(parsed: ParsedContent, now = Date.now()): SourceResult {
    if (this.readAt === undefined) return FAILED;
    const reading = new StatusReading(this.snapshot.statuses, this.suffixes, now);
    const result = reading.resultOf(parsed);
    return reading.validUntil === undefined ? result : { ...result, validUntil: reading.validUntil };
  }

  /** As in `StatusTable`. */
  get keys(): ReturnType<StatusTable['keys']> {
    return this.snapshot.statuses.keys();
  }

  /** As in `StatusTable`. */
  withHash(hash: number): ReturnType<StatusTable['keys']> {
    return this.snapshot.statuses.withHash(hash);
  }

  /**
   * Returns the keys whose status may have changed since the last call, by an event or because it expired. For one caller.
   * @param now ms
   * @returns undefined if any may have: at the first call, after all rows were read again, after many changes, or if `now`
   *   is before that of the last call
   */
  takeChanges(now: number): ReadonlySet<string> | undefined {
    if (now < this.changesTakenAt) this.changes = undefined;
    for (const key of this.snapshot.statuses.expiredBetween(this.changesTakenAt, now)) this.noteChange(key);
    const { changes } = this;
    this.changes = new Set();
    this.changesTakenAt = now;
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
    let asOf = 0;
    for (;;) {
      const { position, assetHash, state: known } = snapshot;
      const rows = await STATUS_CHANGES.run(this.pool, { position, assetHash });
      ({ asOf } = rows[0]!);
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
    this.includedUntil = asOf;
    if (snapshot.statuses !== this.snapshot.statuses) this.changes = undefined;
    this.snapshot = snapshot;
    this.readAt = performance.now();
    if (this.readAt - this.expiredDeletedAt < DELETE_EXPIRED_MS) return;
    for (const key of snapshot.statuses.deleteExpired(Date.now() - KEPT_AFTER_EXPIRY_MS)) this.noteChange(key);
    this.expiredDeletedAt = this.readAt;
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
}

/** Normalizes a key that an earlier version stored, because the rules for keys may have changed. */
const currentKey = (key: string): string => {
  const colon = key.indexOf(':');
  return assetKey({ type: key.slice(0, colon), content: key.slice(colon + 1) });
};

/** @returns the key of the row; undefined if it has none */
const apply = (
  statuses: StatusTable,
  { asset, content, status, createdAt, expiresAt, followers }: Row,
): string | undefined => {
  if (asset === null || asset === '') return undefined;
  const key = content === null ? currentKey(asset) : asset;
  const match = content ?? key.slice(key.indexOf(':') + 1);
  // The status UNKNOWN removes the asset, unless another status follows.
  const isOver =
    status === null || status === 'UNKNOWN' || (expiresAt !== null && expiresAt <= Date.now() - KEPT_AFTER_EXPIRY_MS);
  if (status === null || (isOver && followers === null)) statuses.delete(key);
  else
    statuses.set(key, {
      status,
      match,
      since: createdAt ?? undefined,
      expiresAt: expiresAt ?? undefined,
      followers: followers ?? undefined,
    });
  return key;
};

import type { Pool } from 'pg';
import { parentPages } from '../../assets/parent-pages.js';
import { addressKey, assetKey, urlKey } from '../../assets/asset-key.js';
import type { ParsedContent } from '../../assets/parse-content.js';
import { FAILED, hosted, NOT_FOUND, type Opinion } from '../opinion.js';
import type { RowOf } from '../../postgres/statement.js';
import { STATUS_CHANGES, STATUS_PAGE } from './statements.js';
import { hashesAbove } from '../lists/suffix-hashes.js';
import { StatusTable, TooManyStatuses } from './status-table.js';
import type { EventLog, RecordedEvent } from '../../event-log/event-log.js';
import { Unavailable } from '../../errors.js';
import { coalesce } from '../../flow/trailing-flight.js';
import { Backoff, pause } from '../../flow/retry.js';
import type { HostingSuffixes } from '../lists/hosting-suffixes.js';

const POLL_MS = 250;
const MAX_BACK_OFF_MS = 2_000;
/** How long it waits after the statuses turned out too many: it would read all of them for nothing. */
const FULL_PAUSE_MS = 60_000;
const MAX_NAME_LENGTH = 253;

type Row = RowOf<typeof STATUS_CHANGES>;

/** An event that the rows were counted up to, as the log has it. */
type Mark = Pick<RecordedEvent, 'stream' | 'revision' | 'id' | 'position' | 'recordedAt'>;

/** What the read rows depend on; if any of it has changed, all are read again. */
interface History {
  readonly table: string | null;
  readonly parked: string;
  readonly checkpoint: number;
  /** Undefined if no event was counted, or the log does not have it. */
  readonly mark: Mark | undefined;
}

/** What was read. */
interface Copy {
  readonly statuses: StatusTable;
  readonly position: number;
  readonly assetHash: string;
  /** Undefined before the first page. */
  readonly history: History | undefined;
}

/**
 * This service's own asset statuses in memory, polled from the projection: read completely at the start, then four
 * times a second. While the database is unavailable the last known statuses keep being used.
 */
export class OwnStatuses {
  private copy: Copy;
  private current: number | undefined;
  private isFailing = false;
  private isFull = false;
  private readonly readOnce = coalesce(() => this.read());

  constructor(
    private readonly pool: Pool,
    private readonly log: Pick<EventLog, 'readStream'>,
    private readonly suffixes: HostingSuffixes,
    /** The most memory that the statuses may take; twice as much while all are read again. */
    private readonly maxBytes: number,
    /** Called when the statuses can no longer be refreshed, and when they can again. */
    private readonly report: (sentence: string, level: 'log' | 'warn') => void,
  ) {
    this.copy = this.nothing();
  }

  /** Assets with a status. */
  get known(): number {
    return this.copy.statuses.size;
  }

  /** The position of the log that the statuses include; -1 before the first read. */
  get position(): number {
    return this.copy.history?.checkpoint ?? -1;
  }

  get bytes(): number {
    return this.copy.statuses.bytes;
  }

  /** ms since the last successful read; undefined if there was none. */
  get age(): number | undefined {
    return this.current === undefined ? undefined : performance.now() - this.current;
  }

  ask(reading: ParsedContent): Opinion {
    if (this.current === undefined) return FAILED;
    const { statuses } = this.copy;
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
      const status = this.copy.statuses.get(key);
      if (status !== undefined) return inherited(status, place);
    }
    return undefined;
  }

  private fromHost({ host, isDnsName, isSharedHost, isAtHost }: ParsedContent): Opinion {
    if (host === undefined) return NOT_FOUND;
    if (isSharedHost) {
      const carrier = this.copy.statuses.get(urlKey(host)) ?? this.above(host)?.status;
      return carrier === undefined ? NOT_FOUND : hosted(carrier.match);
    }
    if (!isDnsName) return NOT_FOUND;
    const status = isAtHost ? this.copy.statuses.get(urlKey(host)) : undefined;
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
      await pause(isRead ? POLL_MS : this.isFull ? FULL_PAUSE_MS : backoff.next(), signal);
    }
  }

  /**
   * Reads what is new unless the statuses include a position of the log already.
   * @throws Unavailable if they do not include it afterwards
   */
  async reach(position: number): Promise<void> {
    if (this.position >= position) return;
    await this.refresh();
    if (this.position < position)
      throw new Unavailable('The service has not reached the state of this Consistency-Token yet; try again');
  }

  /** Reads what is new; concurrent calls share a read that begins after them. Never rejects. */
  async refresh(): Promise<boolean> {
    try {
      await this.readOnce();
      if (this.isFailing) this.report('Asset statuses are being refreshed again', 'log');
      this.isFailing = false;
      this.isFull = false;
      return true;
    } catch (error) {
      this.isFull = error instanceof TooManyStatuses;
      if (!this.isFailing)
        this.report(`Asset statuses cannot be refreshed: ${(error as Error).message}; retrying`, 'warn');
      this.isFailing = true;
      return false;
    }
  }

  private async read(): Promise<void> {
    let { copy } = this;
    for (;;) {
      const { position, assetHash, history: known } = copy;
      const rows = await STATUS_CHANGES.run(this.pool, { position, assetHash, passed: known?.checkpoint ?? -1 });
      const history = await this.historyOf(rows[0]!, known);
      if (history === undefined) {
        // Filled next to the copy in use, so that no answer comes from half of it.
        copy = this.nothing();
        continue;
      }
      const { statuses } = copy;
      for (const row of rows) apply(statuses, row);
      const last = rows.at(-1)!;
      const reached = last.position === null ? copy : { position: last.position, assetHash: last.assetHash! };
      copy = { statuses, position: reached.position, assetHash: reached.assetHash, history };
      if (rows.length < STATUS_PAGE) break;
    }
    this.copy = copy;
    this.current = performance.now();
  }

  private nothing(): Copy {
    return { statuses: new StatusTable(this.maxBytes), position: -1, assetHash: '', history: undefined };
  }

  /**
   * What a page depends on. The log is read after the page, so that events lost before the page are noticed now, and
   * those lost afterwards by the next one.
   * @returns undefined if it does not continue what is known: then all rows have to be read again
   */
  private async historyOf(row: Row, known: History | undefined): Promise<History | undefined> {
    const { table, parked, parkedBefore, checkpoint } = row;
    if (known === undefined) return { table, parked, checkpoint, mark: await this.markOf(row) };
    if (table !== known.table || parkedBefore !== known.parked) return undefined;
    if (known.mark !== undefined && !(await this.isInLog(known.mark))) return undefined;
    const isSame = checkpoint === known.checkpoint && row.eventId === known.mark?.id;
    const mark = isSame ? known.mark : await this.markOf(row);
    // Nobody can tell whether this history continues one that had no mark.
    return known.mark === undefined && mark !== undefined ? undefined : { table, parked, checkpoint, mark };
  }

  private async markOf({ stream, revision, eventId }: Row): Promise<Mark | undefined> {
    if (stream === null || revision === null) return undefined;
    const [event] = await this.log.readStream(stream, BigInt(revision), 1);
    return event?.id === eventId ? event : undefined;
  }

  /** An event that was lost and sent again has the same id, and perhaps the same place, but was recorded later. */
  private async isInLog({ stream, revision, id, position, recordedAt }: Mark): Promise<boolean> {
    const [event] = await this.log.readStream(stream, revision, 1);
    return event?.id === id && event.position === position && event.recordedAt === recordedAt;
  }

  /** The nearest domain above the host that has a status. */
  private above(host: string): { readonly status: Opinion; readonly place: number } | undefined {
    // Longer names are not DNS names; without the cut, a sender of many labels could make this loop long.
    const above = hashesAbove(host, host.length - MAX_NAME_LENGTH - 2, urlKey(''));
    for (const { start, hash } of above.reverse()) {
      if (!this.copy.statuses.mayHave(hash)) continue;
      const status = this.copy.statuses.get(urlKey(host.slice(start)));
      if (status !== undefined) return { status, place: host.length - start };
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

const apply = (statuses: StatusTable, { asset, content, status, createdAt }: Row): void => {
  if (asset === null) return;
  const key = content === null ? currentKey(asset) : asset;
  const match = content ?? key.slice(key.indexOf(':') + 1);
  // UNKNOWN counts as no status.
  if (status === 'UNKNOWN' || status === null) statuses.delete(key);
  else statuses.set(key, { status, match, since: createdAt ?? undefined });
};

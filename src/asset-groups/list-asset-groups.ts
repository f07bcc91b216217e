import { Injectable, Logger } from '@nestjs/common';
import { Pool } from 'pg';
import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { EventLog } from '../event-log/event-log.js';
import { TimeSlices, type Work } from '../flow/turns.js';
import { READ_COUNTS, READ_GROUPS, readTail } from './load-groups.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { ConcurrencyLimit, declareQueue, Semaphore } from '../flow/concurrency-limit.js';
import { Backoff, retry } from '../flow/time.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { limit } from '../limits.js';

/** Groups in order of id, from one snapshot. */
interface GroupSlice {
  /** The items of a JSON array without the brackets; empty if there are no groups. */
  readonly json: string;
  /** The id after which the next slice begins; undefined for the last slice. */
  readonly next: number | undefined;
  /** The slice includes everything up to this position of the log. */
  readonly position: number;
}

interface SliceRequest {
  readonly organization: string;
  /** The id after which the slice begins. */
  readonly after: number;
  /** The approximate size limit of the slice, in bytes. */
  readonly maxBytes: number;
  /**
   * Maximum number of rows to read. Rows that do not fit into the slice are read unnecessarily; with too few rows, the
   * slice is shorter than `maxBytes`.
   */
  readonly maxRows: number;
}

interface Group {
  readonly id: number;
  readonly name: string;
  readonly assetCount: number;
}

/** Number of groups that are written between two points where the work may be paused. */
const GROUPS_PER_STEP = 50;

/** Reads an organization's groups in slices: the rows of the read model, with the later events of the stream applied. */
@Injectable()
export class GroupSlices {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly slices: TimeSlices,
  ) {}

  /** @throws Unavailable if the read model is too far behind, or the log is unavailable */
  async read({ organization, after, maxBytes, maxRows }: SliceRequest): Promise<GroupSlice> {
    const rows = await READ_GROUPS.run(this.pool, { organization, after, maxRows, maxBytes }, TIME_LIMIT_MS);
    const model = rows.flatMap(({ id, name, n }) => (id === null ? [] : [{ id, name: name!, assetCount: n ?? 0 }]));
    const last = rows.at(-1)!;
    const isTruncated = model.length === maxRows || (last.bytes ?? 0) >= maxBytes;
    const end = isTruncated ? last.id! : Number.POSITIVE_INFINITY;
    const tail = await readTail(this.log, organization, BigInt(last.revision ?? -1));
    const changes = [...tail.groups.nameById].filter(([id]) => id > after && id <= end);
    const groups = changes.length === 0 ? model : await this.applyChanges(organization, model, changes);
    const written = await this.slices.run(organization, write(groups, maxBytes, isTruncated ? end : undefined));
    return { ...written, position: last.position };
  }

  /** @param changes the new names by id; undefined if the group was deleted */
  private async applyChanges(
    organization: string,
    model: readonly Group[],
    changes: readonly (readonly [id: number, name: string | undefined])[],
  ): Promise<Group[]> {
    const groups = new Map(model.map((group) => [group.id, group]));
    const unknown = changes.flatMap(([id, name]) => (name === undefined || groups.has(id) ? [] : [id]));
    const counts = unknown.length === 0 ? [] : await READ_COUNTS.run(this.pool, { organization, ids: unknown });
    const assets = new Map(counts.map(({ id, n }) => [id, n]));
    for (const [id, name] of changes)
      if (name === undefined) groups.delete(id);
      else groups.set(id, { id, name, assetCount: groups.get(id)?.assetCount ?? assets.get(id) ?? 0 });
    return [...groups.values()].sort((a, b) => a.id - b.id);
  }
}

/** @param next the id after which the read model has more groups; undefined if the read model has no more groups */
function* write(
  groups: readonly Group[],
  maxBytes: number,
  next: number | undefined,
): Work<Omit<GroupSlice, 'position'>> {
  let json = '';
  for (const [index, { id, name, assetCount }] of groups.entries()) {
    // The text has at least as many bytes as UTF-16 units, so this test never ends a slice before `maxBytes`.
    if (json.length >= maxBytes) return { json, next: groups[index - 1]!.id };
    json += `${index === 0 ? '' : ','}{"id":${id},"name":${JSON.stringify(name)},"assetCount":${assetCount}}`;
    if (index % GROUPS_PER_STEP === 0) yield;
  }
  return { json, next };
}

/**
 * All groups of an organization in order of id, as JSON: `{ groups: [{ id, name, assetCount }] }`. A long list is a
 * stream that reads the next groups when the client has read the previous groups.
 */
export class ListAssetGroups extends Query<AtPosition<string | Readable>> {
  constructor(readonly organization: string) {
    super();
  }
}

/**
 * Maximum size, in bytes, of a list that is read in one snapshot and sent at once. The list then has about 15,000
 * groups with ordinary names.
 */
export const MAX_WHOLE = limit('list of groups in one piece', 1_024 * 1_024, 'bytes', 'request', 'sent in chunks');
/**
 * The size, in bytes, of the slices in which a longer list is read. A slice and one more group fit into the memory that
 * is charged for a stream.
 */
const MAX_SLICE = 120 * 1_024;
/**
 * Maximum number of rows to read for a list that is sent at once. More groups exceed `MAX_WHOLE`, even with the
 * shortest names.
 */
const MAX_ROWS = 20_000;
/**
 * Maximum number of rows to read for a slice. Fewer rows would not fill a slice with ordinary names; more rows cost
 * time with long names.
 */
const SLICE_ROWS = 1_200;
/** How many slices are read at the same time in this process, each on one connection. */
const MAX_CONCURRENT_READS = limit('slices of long group lists', 2, 'slices', 'process', 'waits');
/** The limits for long lists of one organization. */
const QUEUE = declareQueue({ name: 'long group lists', maxRunning: 1, maxWaiting: 4, waitTimeoutMs: 4_000 });
/** How long sending a list may take before the connection is closed, in ms. */
const MAX_SENDING_MS = limit('sending of a long group list', 120_000, 'ms', 'request', 'connection reset');
/** How long the read of a slice is retried after failures, in ms. */
const RETRY_FOR_MS = 5_000;
const FIRST_BACKOFF_MS = 100;
const MAX_BACKOFF_MS = 1_000;

@QueryHandler(ListAssetGroups)
export class ListAssetGroupsHandler implements IQueryHandler<ListAssetGroups> {
  private readonly logger = new Logger('asset-groups');
  private readonly longLists = new ConcurrencyLimit(QUEUE);
  private readonly reads = new Semaphore(MAX_CONCURRENT_READS);

  constructor(
    private readonly concurrency: RequestConcurrency,
    private readonly slices: GroupSlices,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable, or an earlier long list of the
   * organization is still being sent after the wait timeout
   */
  async execute({ organization }: ListAssetGroups): Promise<AtPosition<string | Readable>> {
    const list = await this.concurrency.run(organization, 'groups', () =>
      this.slices.read({ organization, after: 0, maxBytes: MAX_WHOLE, maxRows: MAX_ROWS }),
    );
    // The slices of a long list are read later, so they include everything up to this position.
    const position = BigInt(list.position);
    return { result: list.next === undefined ? `{"groups":[${list.json}]}` : await this.open(organization), position };
  }

  /** Waits for a free slot of the organization, which the list occupies until the stream ends. */
  private open(organization: string): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const send = async (): Promise<void> => {
        const stream = Readable.from(this.read(organization), { objectMode: false });
        const timeout = setTimeout(
          () => stream.destroy(new Error('the client read too slowly')),
          MAX_SENDING_MS,
        ).unref();
        resolve(stream);
        await finished(stream).catch((error: NodeJS.ErrnoException) => {
          // If the client closes the connection, the log entry of its request says so.
          if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
          this.logger.warn(`Sending the groups of ${organization} was aborted: ${error.message}`);
        });
        clearTimeout(timeout);
      };
      this.longLists.run(organization, undefined, send).catch(reject);
    });
  }

  private async *read(organization: string): AsyncGenerator<string> {
    yield '{"groups":[';
    let separator = '';
    for (let after: number | undefined = 0; after !== undefined;) {
      const { json, next } = await this.readSlice(organization, after);
      if (json !== '') {
        yield separator + json;
        separator = ',';
      }
      after = next;
    }
    yield ']}';
  }

  /** Reads a slice. Retries during a short outage, because a response that has started cannot become an error. */
  private async readSlice(organization: string, after: number): Promise<GroupSlice> {
    const retryUntil = performance.now() + RETRY_FOR_MS;
    const backoff = new Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
    const read = async (): Promise<GroupSlice> => {
      await this.reads.acquire();
      try {
        return await this.slices.read({ organization, after, maxBytes: MAX_SLICE, maxRows: SLICE_ROWS });
      } finally {
        this.reads.release();
      }
    };
    return retry(read, () => (performance.now() > retryUntil ? undefined : backoff.next()));
  }
}

import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { Unavailable } from '../errors.js';
import { EventLog, type RecordedEvent } from '../event-log/event-log.js';
import { type IdempotentRequest, idempotentRequestOf } from '../events/asset-groups.js';
import { parseEvent } from '../events/event.js';
import { assetGroupsStream } from '../events/streams.js';
import { type AssetGroupEvent, type AssetGroups, evolve, noGroups } from './asset-group.js';
import { coalesce } from './coalesce.js';

interface TailEvent {
  readonly revision: bigint;
  readonly event: AssetGroupEvent;
  readonly request: IdempotentRequest | undefined;
}

const PAGE = 1_000;
/** Events cached per process over all organizations; a single longer tail is kept anyway. */
const MAX_EVENTS = 200_000;
const MAX_TAILS = 1_000;
/** More events than this that the read model also has are trimmed. */
const MAX_STALE = 500;
/** The model may be ahead of a replica of the log; reads before giving up. */
const MAX_READS = 5;

const TYPES: ReadonlySet<string> = new Set<AssetGroupEvent['type']>([
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
]);

/** Ignores events that the projector would park. */
const readTailEvent = ({ stream, type, data, metadata, revision }: RecordedEvent): TailEvent | undefined => {
  if (!TYPES.has(type)) return undefined;
  const { event } = parseEvent(type as AssetGroupEvent['type'], data);
  if (!event || assetGroupsStream(event.data.organization) !== stream) return undefined;
  return { revision, event, request: idempotentRequestOf(metadata) };
};

/** The end of an organization's stream: everything after `base`; the read model may have part of it. */
export class StreamTail {
  private events: TailEvent[] = [];
  private groups: AssetGroups = noGroups();
  private last: bigint;
  /** Reads to the end of the stream as of this call, or later. */
  readonly readOn: () => Promise<void>;

  constructor(
    log: EventLog,
    organization: string,
    private base: bigint,
  ) {
    this.last = base;
    const stream = assetGroupsStream(organization);
    this.readOn = coalesce(async () => {
      let page: RecordedEvent[];
      do {
        page = await log.readStream(stream, this.last + 1n, PAGE);
        for (const recorded of page) this.add(recorded);
      } while (page.length === PAGE);
    });
  }

  /** The revision before the tail's first event. */
  get start(): bigint {
    return this.base;
  }

  /** The revision of the tail's last event. */
  get revision(): bigint {
    return this.last;
  }

  /** The groups' state as changed by its events. */
  get state(): Readonly<AssetGroups> {
    return this.groups;
  }

  /** Number of events. */
  get size(): number {
    return this.events.length + 1;
  }

  /** Drops events that the read model has, now and then; the state is rebuilt from the rest. */
  trim(upTo: bigint): void {
    const stale = this.events.findIndex(({ revision }) => revision > upTo);
    const length = stale === -1 ? this.events.length : stale;
    if (length <= Math.max(MAX_STALE, this.events.length - length)) return;
    this.events = this.events.slice(length);
    this.base = upTo < this.last ? upTo : this.last;
    this.groups = noGroups();
    for (const { event, request } of this.events) evolve(this.groups, event, request);
  }

  private add(recorded: RecordedEvent): void {
    this.last = recorded.revision;
    const read = readTailEvent(recorded);
    if (!read) return;
    this.events.push(read);
    evolve(this.groups, read.event, read.request);
  }
}

/**
 * Cached tails, so that the next reader only asks the log for new events. Only an optimisation: each reader reads to
 * the end of the stream first.
 */
@Injectable()
export class StreamTailCache {
  private readonly tails = new LRUCache<string, StreamTail>({ max: MAX_TAILS, maxSize: MAX_EVENTS });

  constructor(private readonly log: EventLog) {}

  /**
   * Reads the model's state of an organization and the stream's tail after it: together everything recorded before the
   * call.
   * @param readModel reads one snapshot, including the model's revision
   * @param use gets both; it must be synchronous, because others advance and trim the tail
   * @throws Unavailable if the log or the database is unavailable
   */
  async read<Model extends { readonly revision: bigint }, Result>(
    organization: string,
    readModel: () => Promise<Model>,
    use: (model: Model, tail: StreamTail) => Result,
  ): Promise<Result> {
    let tail = this.tails.get(organization);
    const [model] = await Promise.all([readModel(), tail?.readOn()]);
    for (let reads = 1; tail && tail.revision < model.revision; reads += 1) {
      if (reads > MAX_READS) throw new Unavailable('The log has not reached what was already read from it; try again');
      await tail.readOn();
    }
    // The model can be older than the tail's start: a reader with a newer model has trimmed the events in between, or
    // PostgreSQL lost the model's last transactions in a crash.
    if (!tail || model.revision < tail.start) {
      tail = new StreamTail(this.log, organization, model.revision);
      await tail.readOn();
    }
    tail.trim(model.revision);
    this.tails.set(organization, tail, { size: Math.min(tail.size, MAX_EVENTS) });
    return use(model, tail);
  }
}

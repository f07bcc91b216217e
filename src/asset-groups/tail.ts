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
/** Events that a process keeps, of all organizations together; a single longer tail is kept all the same. */
const MAX_EVENTS = 200_000;
const MAX_TAILS = 1_000;
/** Events that the read model has too are let go when there are more of them than this. */
const MAX_STALE = 500;
/** A model may be ahead of what a replica of the log gives; it is asked this often before we say so. */
const MAX_READS = 5;

const TYPES: ReadonlySet<string> = new Set<AssetGroupEvent['type']>([
  'AssetGroupCreated',
  'AssetGroupRenamed',
  'AssetGroupDeleted',
  'AssetGroupRefused',
]);

/** What the projector would park is no event here either. */
const readTailEvent = ({ stream, type, data, metadata, revision }: RecordedEvent): TailEvent | undefined => {
  if (!TYPES.has(type)) return undefined;
  const { event } = parseEvent(type as AssetGroupEvent['type'], data);
  if (!event || assetGroupsStream(event.data.organization) !== stream) return undefined;
  return { revision, event, request: idempotentRequestOf(metadata) };
};

/** The end of an organization's stream: everything after `base`, part of which the read model may have as well. */
export class StreamTail {
  private events: TailEvent[] = [];
  private groups: AssetGroups = noGroups();
  private last: bigint;
  /** Reads on to the end of the stream as it is when this is called, or later. */
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

  /** The revision that everything in this tail is after. */
  get start(): bigint {
    return this.base;
  }

  /** The revision this tail has reached. */
  get revision(): bigint {
    return this.last;
  }

  /** What its events say of the groups. */
  get state(): Readonly<AssetGroups> {
    return this.groups;
  }

  /** In events. */
  get size(): number {
    return this.events.length + 1;
  }

  /** Lets go of events that the read model has, now and then: what is kept is counted anew from its events. */
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
 * The tails that this process has read, kept so that the next reader asks the log for new events only. They are a
 * saving, never a truth: each reader reads on to the end of the stream first.
 */
@Injectable()
export class StreamTailCache {
  private readonly tails = new LRUCache<string, StreamTail>({ max: MAX_TAILS, maxSize: MAX_EVENTS });

  constructor(private readonly log: EventLog) {}

  /**
   * Reads what the model says of an organization and the tail of its stream after it, together everything that was
   * recorded before the call.
   * @param readModel reads in one snapshot, the revision that the model has reached included
   * @param use is given both; it must not wait for anything, because others read on and let go meanwhile
   * @throws Unavailable where the log or the database is away
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
    // The model can be behind where the tail begins: another reader with a newer one has let go of the events between,
    // or the model's last transactions fell back when PostgreSQL died.
    if (!tail || model.revision < tail.start) {
      tail = new StreamTail(this.log, organization, model.revision);
      await tail.readOn();
    }
    tail.trim(model.revision);
    this.tails.set(organization, tail, { size: Math.min(tail.size, MAX_EVENTS) });
    return use(model, tail);
  }
}

import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { EventLog } from '../../event-log/event-log.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { TooOld } from '../../read-models/replicas/replicas.js';
import { type AnswerFrom, RecordQueries, requireReached } from '../record-queries.js';
import { elementJson } from './element.js';
import { eventMark, FeedIds, type Place, requireSame } from './feed-id.js';
import { FeedWatch } from './feed-watch.js';
import { type Placed, placed } from './placed.js';
import { type FeedPage, NEXT_ELEMENTS } from './statements.js';

/** What changed in an organization's records, as the JSON of a batch of CloudEvents. */
export class ReadFeed extends Query<AsOf<string>> {
  constructor(
    readonly organization: string,
    /** As in `kinds.ts`, ascending. */
    readonly kinds: readonly number[],
    readonly limit: number,
    /** The id of the last element that was worked on; absent: from the beginning. */
    readonly lastEventId: string | undefined,
    /** How long to wait for an element if there is none. ms */
    readonly timeout: number,
    /** Aborts when the client has left. */
    readonly signal: AbortSignal,
    /** The answer includes at least this position. */
    readonly minPosition?: number,
  ) {
    super();
  }
}

const BEGINNING: Place = { position: -1, event: '', parked: 0 };

const batchJson = (ids: FeedIds, elements: readonly Placed[]): string =>
  `[${ids
    .write(elements)
    .map((id, index) => elementJson(id, elements[index]!.row))
    .join(',')}]`;

@QueryHandler(ReadFeed)
export class ReadFeedHandler implements IQueryHandler<ReadFeed> {
  constructor(
    private readonly queries: RecordQueries,
    private readonly log: EventLog,
    private readonly watch: FeedWatch,
  ) {}

  /**
   * @throws Invalid if `lastEventId` is no id, Gone if it is of another log or of before a restore
   * @throws as `RecordQueries.run` and `FeedWatch.wait`
   */
  async execute({
    organization,
    kinds,
    limit,
    lastEventId,
    timeout,
    signal,
    minPosition,
  }: ReadFeed): Promise<AsOf<string>> {
    const until = performance.now() + timeout;
    const ids = new FeedIds(await this.log.id());
    const last = lastEventId === undefined ? BEGINNING : ids.read(lastEventId);
    // What wakes a reader is on the primary.
    let hasWaited = false;
    for (;;) {
      const question = `feed ${kinds.join()} ${limit} ${lastEventId} ${hasWaited} ${minPosition}`;
      const read: AnswerFrom<FeedPage> = async (send, _pool, isReplica) => {
        const next = NEXT_ELEMENTS[kinds.join('-')]!.query({ organization, after: last.position, limit });
        const [found, event] = await Promise.all([
          send<FeedPage>(next),
          // Each time: the log may have been restored while this request was waiting.
          last === BEGINNING ? undefined : this.log.eventAt(BigInt(last.position)),
        ]);
        requireReached(isReplica, found[0]!.upTo, hasWaited ? Infinity : last.position);
        requireSame(last === BEGINNING || (event !== undefined && eventMark(event.id) === last.event));
        const isSameParked = found[0]!.parkedBefore === last.parked;
        // An operator's retry moves no checkpoint, so which of the two is older cannot be told: the primary knows.
        if (isReplica && !isSameParked)
          throw new TooOld('This replica has other parked events than the reader has passed');
        requireSame(isSameParked);
        return found[0]!;
      };
      const page = await this.queries.runFeed(organization, question, read, minPosition);
      const { asOf, upTo, found } = page;
      const elements = placed(page);
      if (elements.length > 0) {
        const text = batchJson(ids, elements);
        const { row } = elements.at(-1)!;
        const isEnd = elements.length === found && found < limit;
        // What follows may be as old as the last element.
        if (isEnd) return { result: text, ...momentOf({ asOf, position: upTo }) };
        return { result: text, asOf: Math.min(asOf ?? 0, row.storedAt), position: row.position };
      }
      const left = until - performance.now();
      const after = Math.max(last.position, upTo ?? -1);
      const wanted = { organization, kinds, after, reached: upTo ?? -1, asOf: asOf ?? 0 };
      hasWaited = true;
      const { hasNews, ...seen } =
        left > 0 ? await this.watch.wait(wanted, left, signal) : { hasNews: false, asOf: wanted.asOf, position: after };
      if (!hasNews) return { result: '[]', ...seen };
    }
  }
}

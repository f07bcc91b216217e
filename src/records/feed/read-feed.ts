import { type IQueryHandler, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../../http/requests.js';
import { EventLog } from '../../event-log/event-log.js';
import { TimeSlices, type Work } from '../../flow/turns.js';
import { type AsOf, momentOf } from '../../http/responses/send-snapshot.js';
import { type AnswerFrom, RecordQueries, requireReached } from '../record-queries.js';
import {
  elementJson,
  type PlacedElement,
  placedElements,
  type FeedPage,
  type PageMoment,
  NEXT_ELEMENTS,
  pageOf,
  type PageRow,
} from './feed-elements.js';
import { FeedIds, type FeedPosition, requireInLog } from './feed-ids.js';
import { FeedWatch } from './feed-watch.js';

interface FeedQuery {
  readonly organization: string;
  /** As in `listed-items.ts`, ascending. */
  readonly kinds: readonly number[];
  readonly limit: number;
  /** The id of the last element that the client has processed. Undefined: the feed is read from the beginning. */
  readonly lastEventId: string | undefined;
  /** How long to wait if there is no new element, in ms. */
  readonly timeoutMs: number;
  /** Aborts when the client closes the connection. */
  readonly signal: AbortSignal;
  /** The position of the log that the result must include. */
  readonly minPosition?: number | undefined;
}

/** Reads the changes of an organization's records, as the JSON of a batch of CloudEvents. */
export class ReadFeed extends queryOf<AsOf<string>, FeedQuery>() {}

/** A page whose elements are written. */
interface WrittenPage extends PageMoment {
  /** Undefined: there are no new elements. */
  readonly batch: AsOf<string> | undefined;
}

const BEGINNING: FeedPosition = { position: -1, event: '' };

/** Writes a batch. Yields after each element, so that other requests may run. */
function* batchJson(ids: FeedIds, elements: readonly PlacedElement[]): Work<string> {
  const texts: string[] = [];
  for (const [index, id] of ids.write(elements).entries()) {
    texts.push(elementJson(id, elements[index]!.row));
    yield;
  }
  return `[${texts.join(',')}]`;
}

@QueryHandler(ReadFeed)
export class ReadFeedHandler implements IQueryHandler<ReadFeed> {
  constructor(
    private readonly queries: RecordQueries,
    private readonly log: EventLog,
    private readonly watch: FeedWatch,
    private readonly slices: TimeSlices,
  ) {}

  /**
   * @throws Invalid if `lastEventId` is malformed
   * @throws Gone if `lastEventId` is from another log or from a state that a restore has removed
   * @throws as `RecordQueries.run` and `FeedWatch.wait`
   */
  async execute({
    organization,
    kinds,
    limit,
    lastEventId,
    timeoutMs,
    signal,
    minPosition,
  }: ReadFeed): Promise<AsOf<string>> {
    const until = performance.now() + timeoutMs;
    const ids = new FeedIds(await this.log.id());
    const last = lastEventId === undefined ? BEGINNING : ids.read(lastEventId);
    // Requests are woken when the primary has new elements, so after waiting a replica may be too far behind.
    let hasWaited = false;
    for (;;) {
      const key = `feed ${kinds.join()} ${limit} ${lastEventId} ${hasWaited} ${minPosition}`;
      const read: AnswerFrom<FeedPage> = async (send, _pool, isReplica) => {
        const statement = NEXT_ELEMENTS.query({ organization, after: last.position, limit, kinds });
        const page = pageOf(await send<PageRow>(statement));
        requireReached(isReplica, page.upTo, hasWaited ? Infinity : last.position);
        // Asked after each page: an event that the log still has was also in the log when the page was read.
        requireInLog(last === BEGINNING || (await this.log.has({ ...last, position: BigInt(last.position) })));
        return page;
      };
      const write = async (page: FeedPage): Promise<WrittenPage> => {
        const { asOf, upTo, isCut } = page;
        const elements = placedElements(page);
        if (elements.length === 0) return { asOf, upTo, batch: undefined };
        const result = await this.slices.run(organization, batchJson(ids, elements));
        const { row } = elements.at(-1)!;
        const isEnd = !isCut && elements.length < limit;
        // More elements follow, so the result is only as current as its last element.
        const moment = isEnd
          ? momentOf({ asOf, position: upTo })
          : { asOf: Math.min(asOf ?? 0, row.storedAt), position: row.position };
        return { asOf, upTo, batch: { result, ...moment } };
      };
      const { asOf, upTo, batch } = await this.queries.runFeed({ organization, key, read, minPosition, write });
      if (batch !== undefined) return batch;
      const leftMs = until - performance.now();
      const after = Math.max(last.position, upTo ?? -1);
      const waitRequest = { organization, kinds, after, reached: upTo ?? -1, asOf: asOf ?? 0 };
      hasWaited = true;
      const { hasNews, ...moment } =
        leftMs > 0
          ? await this.watch.wait(waitRequest, leftMs, signal)
          : { hasNews: false, asOf: waitRequest.asOf, position: after };
      if (!hasNews) return { result: '[]', ...moment };
    }
  }
}

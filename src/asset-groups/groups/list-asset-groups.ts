import { Readable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { Logger } from '@nestjs/common';
import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { OrganizationTurns } from '../../flow/organization-turns.js';
import { Backoff, pause } from '../../flow/retry.js';
import { Semaphore } from '../../flow/semaphore.js';
import { RequestTurns } from '../../read-models/request-turns.js';
import { type GroupSlice, GroupSlices } from './group-slice.js';

/**
 * All groups of an organization in order of id, as JSON: `{ groups: [{ id, name, assetCount }] }`. A long list is a
 * stream that reads as its client takes it.
 */
export class ListAssetGroups extends Query<string | Readable> {
  constructor(readonly organization: string) {
    super();
  }
}

/** A list up to this is read at one moment and answered whole: some 15,000 groups with ordinary names. Bytes. */
export const MAX_WHOLE = 1_024 * 1_024;
/** What is held of a longer one: with the last group beyond it, what a stream is charged (`http/body`). Bytes. */
const MAX_SLICE = 120 * 1_024;
/** More groups are longer than that, whatever their names. */
const MAX_ROWS = 20_000;
/** Rows to look at for a slice: fewer would cut it short if names are ordinary, more cost time if they are long. */
const SLICE_ROWS = 1_200;
/** Long lists whose next slice is being read, in this process; the connections they use. */
const MAX_READING = 2;
/** Long lists of an organization. ms */
const TURNS = { name: 'long group lists', running: 1, waiting: 4, patience: 4_000, rest: 0 };
/** A client that takes longer is cut off. ms */
const MAX_SENDING = 120_000;
/** How long the reading of a slice is retried. ms */
const RETRY_WITHIN = 5_000;
const FIRST_BACK_OFF = 100;
const MAX_BACK_OFF = 1_000;

@QueryHandler(ListAssetGroups)
export class ListAssetGroupsHandler implements IQueryHandler<ListAssetGroups> {
  private readonly logger = new Logger('asset-groups');
  private readonly longLists = new OrganizationTurns(TURNS);
  private readonly reading = new Semaphore(MAX_READING);

  constructor(
    private readonly turns: RequestTurns,
    private readonly slices: GroupSlices,
  ) {}

  /**
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable, or another long list of the organization is being
   * sent for too long
   */
  async execute({ organization }: ListAssetGroups): Promise<string | Readable> {
    const list = await this.turns.runInTurn(organization, 'groups', () =>
      this.slices.read({ organization, after: 0, maxBytes: MAX_WHOLE, maxRows: MAX_ROWS }),
    );
    return list.next === undefined ? `{"groups":[${list.json}]}` : this.open(organization);
  }

  /** Resolves once it is this list's turn, which ends with the stream. */
  private open(organization: string): Promise<Readable> {
    return new Promise((resolve, reject) => {
      const send = async (): Promise<void> => {
        const stream = Readable.from(this.read(organization), { objectMode: false });
        const late = setTimeout(() => stream.destroy(new Error('its client took too long')), MAX_SENDING).unref();
        resolve(stream);
        await finished(stream).catch((error: NodeJS.ErrnoException) => {
          // That a client has left is said with its request.
          if (error.code === 'ERR_STREAM_PREMATURE_CLOSE') return;
          this.logger.warn(`A list of the groups of ${organization} was cut off: ${error.message}`);
        });
        clearTimeout(late);
      };
      this.longLists.runInTurn(organization, undefined, send).catch(reject);
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

  /** An answer that has begun cannot become an error, so a short outage is waited for. */
  private async readSlice(organization: string, after: number): Promise<GroupSlice> {
    const retryUntil = performance.now() + RETRY_WITHIN;
    const backoff = new Backoff(FIRST_BACK_OFF, MAX_BACK_OFF);
    for (;;) {
      await this.reading.acquire();
      try {
        return await this.slices.read({ organization, after, maxBytes: MAX_SLICE, maxRows: SLICE_ROWS });
      } catch (error) {
        if (performance.now() > retryUntil) throw error;
      } finally {
        this.reading.release();
      }
      await pause(backoff.next());
    }
  }
}

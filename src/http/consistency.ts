import { Injectable, createParamDecorator, type ExecutionContext, Global, Module } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Gone, Invalid, Unavailable } from '../errors.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { BEGINNING, EventLog } from '../event-log/event-log.js';
import { BLOCK_BYTES, SealedBlocks } from './sealed-blocks.js';
import { WaitingRequests } from '../flow/concurrency-limit.js';
import { Checkpoints, hasReached, type ProjectionName } from '../read-models/checkpoints.js';
import { ownerOf } from './access/caller.js';
import type { Requirement } from './access/access.js';
import { EventLogModule } from '../event-log/event-log.module.js';
import { ReadModelsModule } from '../read-models/read-models.module.js';
import { limit } from '../limits.js';

export const CONSISTENCY_TOKEN = 'consistency-token';

const MALFORMED = 'Consistency-Token must be the Consistency-Token of an earlier response';
const FOREIGN_OR_LOST =
  'Consistency-Token is from another log, or from a state that was lost; repeat the request without Consistency-Token';

/** The error for a token whose position this log does not have. */
const gone = (): Gone => new Gone(FOREIGN_OR_LOST);

const malformed = (): Invalid => new Invalid(MALFORMED);

/** Encrypts and decrypts the tokens of one log. */
class Codec {
  private readonly blocks: SealedBlocks;
  private last: { readonly position: bigint; readonly token: string } | undefined;

  constructor(logId: string) {
    this.blocks = new SealedBlocks(`consistency of ${logId}`);
  }

  write(position: bigint): string {
    // The position seldom changes between two responses.
    if (this.last?.position !== position) {
      const block = Buffer.alloc(BLOCK_BYTES);
      block.writeBigInt64BE(position, 0);
      this.last = { position, token: this.blocks.seal(block)[0]! };
    }
    return this.last.token;
  }

  read(token: string): bigint {
    const position = this.blocks.open(token, { malformed, foreign: gone }).readBigInt64BE(0);
    // A token with a changed character decrypts to a random position: a negative position, or a position beyond the end
    // of the log.
    if (position < BEGINNING) throw malformed();
    return position;
  }
}

/**
 * Writes and reads the header `Consistency-Token`: a position of the log, encrypted with a key that every instance
 * derives from the id of the log. Clients cannot read a token, which would show how many events other organizations send.
 */
@Injectable()
export class ConsistencyTokens {
  private codec: Codec | undefined;

  constructor(private readonly log: EventLog) {}

  /**
   * Adds the header to a response that includes everything up to `position`. If the token of the request names a later
   * position, the response names the later position. A client that always sends the token of its last response then never
   * goes back, even after it has sent a duplicate of an old event or read a page of the feed.
   */
  async add(reply: FastifyReply, position: bigint | number): Promise<void> {
    this.codec ??= new Codec(await this.log.id());
    const ownPosition = BigInt(position);
    const { minPosition } = reply.request;
    void reply.header(
      CONSISTENCY_TOKEN,
      this.codec.write(minPosition !== null && minPosition > ownPosition ? minPosition : ownPosition),
    );
  }

  /** Adds the header for the position of the result of a command. @returns the result */
  async addTo<Result>(reply: FastifyReply, { result, position }: AtPosition<Result>): Promise<Result> {
    await this.add(reply, position);
    return result;
  }

  /**
   * @returns the position that the token names
   * @throws Invalid if the token is malformed, Gone if the token is from another log
   */
  async read(token: string): Promise<bigint> {
    this.codec ??= new Codec(await this.log.id());
    return this.codec.read(token);
  }
}

const DEFAULT_WAIT_SECONDS = limit('wait for a `Consistency-Token`', 2, 'seconds', 'request', '503');
const MAX_WAIT_SECONDS = limit('wait for a `Consistency-Token` with `Prefer: wait`', 10, 'seconds', 'request', '503');
/**
 * Matches the preference `wait` (RFC 7240). If a request has several preferences `wait`, the first preference applies.
 */
const WAIT = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?=$|[,;])/i;

/** Returns the seconds of `Prefer: wait`, at most `max`; undefined if the header has no such preference. */
export const preferredWaitSeconds = (prefer: string | string[] | undefined, max: number): number | undefined => {
  const seconds = WAIT.exec(String(prefer ?? ''))?.[1];
  return seconds === undefined ? undefined : Math.min(Number(seconds), max);
};

/**
 * The error for a state that does not include a position yet.
 * @param name what names the position
 */
export const notReached = (name = 'this Consistency-Token'): Unavailable =>
  new Unavailable(`The service has not reached the state of ${name} yet; try again`);

/** Holds a request with a `Consistency-Token` until the read models include the token's position. */
@Injectable()
export class Consistency {
  constructor(
    private readonly tokens: ConsistencyTokens,
    private readonly checkpoints: Checkpoints,
    private readonly log: EventLog,
    private readonly waiting: WaitingRequests,
  ) {}

  /**
   * Waits until the checkpoints of the projections that the route reads have reached the position of the request's
   * token. For a route that reads no projection, such as a write, only checks that the token is from this log.
   * @throws Invalid if the token is malformed, Gone if it is from another log or beyond the end of this log
   * @throws Unavailable if the projections do not reach the position in time
   * @throws Unavailable if the database is unavailable
   * @throws TooManyRequests if too many requests of the organization are waiting
   */
  async waitFor(request: FastifyRequest, reply: FastifyReply, { reads = [] }: Requirement): Promise<void> {
    const position = await this.tokens.read(String(request.headers[CONSISTENCY_TOKEN]));
    request.minPosition = position;
    await this.waitForPosition(position, reads, request, reply);
  }

  /**
   * Waits until the checkpoints of projections have reached a position.
   * @param name what names the position. Default: the request's token
   * @throws as `waitFor`
   */
  async waitForPosition(
    position: bigint,
    reads: readonly ProjectionName[],
    request: FastifyRequest,
    reply: FastifyReply,
    name?: string,
  ): Promise<void> {
    const preferred = preferredWaitSeconds(request.headers['prefer'], MAX_WAIT_SECONDS);
    if (preferred !== undefined) void reply.header('preference-applied', `wait=${preferred}`);
    if (reads.length > 0 && hasReached(await this.checkpoints.current(), reads, position)) return;
    if (position > (await this.log.forSubscriptions.head())) throw gone();
    if (reads.length === 0) return;
    const closed = new AbortController();
    const onClose = (): void => closed.abort();
    reply.raw.once('close', onClose);
    const ms = (preferred ?? DEFAULT_WAIT_SECONDS) * 1_000;
    const isReached = await this.waiting
      .run(ownerOf(request.caller), () => this.checkpoints.reached(reads, position, ms, closed.signal))
      .finally(() => reply.raw.off('close', onClose));
    if (!isReached) throw notReached(name);
  }
}

/** Injects the position of the log that the response must include; undefined if the request has no token. */
export const MinPosition = createParamDecorator((_: unknown, context: ExecutionContext): number | undefined => {
  const { minPosition } = context.switchToHttp().getRequest<FastifyRequest>();
  return minPosition === null ? undefined : Number(minPosition);
});

/** Global, because the controllers of all features add a token to their responses. */
@Global()
@Module({
  imports: [EventLogModule, ReadModelsModule],
  providers: [Consistency, ConsistencyTokens],
  exports: [Consistency, ConsistencyTokens],
})
export class ConsistencyModule {}

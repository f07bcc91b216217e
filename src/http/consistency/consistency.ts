import { createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Unavailable } from '../../errors.js';
import { EventLog } from '../../event-log/event-log.js';
import { WaitingRequests } from '../../flow/waiting-requests.js';
import { Checkpoints, hasReached } from '../../read-models/checkpoints/checkpoints.js';
import { ownerOf } from '../access/caller.js';
import type { Requirement } from '../access/access.js';
import { CONSISTENCY_TOKEN, ConsistencyTokens, gone } from './consistency-token.js';

const DEFAULT_WAIT_SECONDS = 2;
const MAX_WAIT_SECONDS = 10;
/**
 * Matches the preference `wait` (RFC 7240). If a request has several preferences `wait`, the first preference applies.
 */
const WAIT = /(?:^|,)\s*wait\s*=\s*"?(\d+)"?\s*(?=$|[,;])/i;

const preferredWaitSeconds = (prefer: string | string[] | undefined): number | undefined => {
  const seconds = WAIT.exec(String(prefer ?? ''))?.[1];
  return seconds === undefined ? undefined : Math.min(Number(seconds), MAX_WAIT_SECONDS);
};

/** The error for a state that does not include the position of the request's token yet. */
export const notReached = (): Unavailable =>
  new Unavailable('The service has not reached the state of this Consistency-Token yet; try again');

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
   * Waits until the checkpoints of the projections that the route reads have reached the position of the request's token. For a route that
   * reads no projection, such as a write, only checks that the token is from this log.
   * @throws Invalid if the token is malformed, Gone if it is from another log or beyond the end of this log
   * @throws Unavailable if the projections do not reach the position in time
   * @throws Unavailable if the database is unavailable
   * @throws TooManyRequests if too many requests of the organization are waiting
   */
  async waitFor(request: FastifyRequest, reply: FastifyReply, { reads = [] }: Requirement): Promise<void> {
    const position = await this.tokens.read(String(request.headers[CONSISTENCY_TOKEN]));
    request.minPosition = position;
    const preferred = preferredWaitSeconds(request.headers['prefer']);
    if (preferred !== undefined) void reply.header('preference-applied', `wait=${preferred}`);
    if (reads.length > 0 && hasReached(await this.checkpoints.current(), reads, position)) return;
    if (position > (await this.log.forSubscriptions.head())) throw gone();
    if (reads.length === 0) return;
    const closed = new AbortController();
    const onClose = (): void => closed.abort();
    reply.raw.once('close', onClose);
    const ms = (preferred ?? DEFAULT_WAIT_SECONDS) * 1_000;
    const isReached = await this.waiting
      .run(ownerOf(request.caller ?? undefined), () => this.checkpoints.reached(reads, position, ms, closed.signal))
      .finally(() => reply.raw.off('close', onClose));
    if (!isReached) throw notReached();
  }
}

/** Injects the position of the log that the response must include; undefined if the request has no token. */
export const MinPosition = createParamDecorator((_: unknown, context: ExecutionContext): number | undefined => {
  const { minPosition } = context.switchToHttp().getRequest<FastifyRequest>();
  return minPosition === null ? undefined : Number(minPosition);
});

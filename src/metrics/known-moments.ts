import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Gone, Invalid, Unavailable } from '../errors.js';
import { EventLog } from '../event-log/event-log.js';
import { ownerOf } from '../http/access/caller.js';
import { readInstant } from '../http/parameters.js';
import { Consistency, ConsistencyTokens } from '../http/consistency.js';
import { DatabaseClock, databaseTime } from '../postgres/clock.js';
import { asUnavailable } from '../postgres/transient-errors.js';
import type { ProjectionName } from '../read-models/checkpoints.js';
import { MetricsPool } from '../read-models/pools.js';
import type { RowOf } from '../postgres/statement.js';
import { MetricsQueries } from './metrics-queries.js';
import { lacksHistory, type Moment, READ_MOMENT } from './past-sql.js';

const RETRY_AFTER_SECONDS = 5;
/** After every position of a log. */
const END = BigInt(Number.MAX_SAFE_INTEGER);

/** A parameter that has been read, and names an instant in the past or a position of this log. */
type Named = { readonly name: string } & ({ readonly instant: number } | { readonly position: bigint });

/** Reads which states of the log a request is about, and waits until the read models include these states. */
@Injectable()
export class KnownMoments {
  constructor(
    private readonly pool: MetricsPool,
    private readonly log: EventLog,
    private readonly tokens: ConsistencyTokens,
    private readonly consistency: Consistency,
    private readonly queries: MetricsQueries,
    private readonly clock: DatabaseClock = new DatabaseClock(),
  ) {}

  /**
   * Reads a parameter that is an instant or a `Consistency-Token`.
   * @param reads the projections that the route reads
   * @throws as `parse` and `reach`
   */
  async read(name: string, value: string, reads: readonly ProjectionName[], reply: FastifyReply): Promise<Moment> {
    return this.reach(await this.parse(name, value, reply), reads, reply);
  }

  /**
   * @throws Invalid, naming the parameter, if it is neither an instant nor a token, or an instant that has not passed yet
   * @throws Gone if the token is from another log
   */
  async parse(name: string, value: string, reply: FastifyReply): Promise<Named> {
    const instant = readInstant(value);
    if (instant === undefined) return { name, position: await this.readToken(name, value) };
    if (instant >= this.clock.now() && instant >= (await this.inTurn(reply, 'time', () => databaseTime(this.pool))))
      throw new Invalid(`${name} must be in the past`);
    return { name, instant };
  }

  /**
   * Waits until the read models include a state.
   * @throws Gone if the position is of a state that was lost
   * @throws Unavailable if the read models do not reach the state in time, or were filled by an earlier version
   */
  async reach(named: Named, reads: readonly ProjectionName[], reply: FastifyReply): Promise<Moment> {
    const { name } = named;
    const wait = (position: bigint): Promise<void> =>
      this.consistency.waitForPosition(position, reads, reply.request, reply, name).catch((error: unknown) => {
        throw error instanceof Gone ? gone(name) : error;
      });
    if ('instant' in named) return this.atInstant(named.instant, wait, reply);
    await wait(named.position);
    const row = await this.moment(0, named.position, reply);
    return { position: Number(named.position), instant: row.instant ?? 0 };
  }

  /** Returns the present state, as the read models have it. */
  async present(reply: FastifyReply): Promise<Moment> {
    const { head, instant } = await this.moment(0, END, reply);
    return { position: head ?? -1, instant: instant ?? 0 };
  }

  /**
   * An event that was stored after the instant ends what was known then. Without such an event, the log must have stored
   * everything that it has given an earlier time.
   */
  private async atInstant(
    instant: number,
    wait: (position: bigint) => Promise<void>,
    reply: FastifyReply,
  ): Promise<Moment> {
    const { next } = await this.moment(instant, -1n, reply);
    if (next !== null) return { position: next - 1, instant };
    await this.log.settled(this.clock.now() - instant);
    const head = await this.log.forSubscriptions.head();
    await wait(head);
    const later = await this.moment(instant, -1n, reply);
    return { position: later.next === null ? Number(head) : later.next - 1, instant };
  }

  private async readToken(name: string, value: string): Promise<bigint> {
    try {
      return await this.tokens.read(value);
    } catch (error) {
      if (error instanceof Gone) throw gone(name);
      if (!(error instanceof Invalid)) throw error;
      throw new Invalid(
        `${name} must be a date-time with a zone, such as 2026-03-01T00:00:00Z, or the Consistency-Token of an earlier response`,
      );
    }
  }

  private async moment(instant: number, position: bigint, reply: FastifyReply): Promise<RowOf<typeof READ_MOMENT>> {
    const read = (): Promise<RowOf<typeof READ_MOMENT>[]> => READ_MOMENT.run(this.pool, { instant, position });
    const [row] = await this.inTurn(reply, `moment ${instant} ${position}`, read);
    if (lacksHistory(row!))
      throw new Unavailable(
        'The metrics are being rebuilt, so the service does not know yet what it knew in the past',
        RETRY_AFTER_SECONDS,
      );
    return row!;
  }

  /** The statements of an organization run one at a time, as its metrics queries do, because they share a pool. */
  private inTurn<Result>({ request }: FastifyReply, key: string, statement: () => Promise<Result>): Promise<Result> {
    const owner = ownerOf(request.caller);
    return this.queries.inTurn(owner, key, () => statement().catch(asThrown));
  }
}

const gone = (name: string): Gone =>
  new Gone(`${name} is a Consistency-Token of another log, or of a state that was lost`);

const asThrown = (error: unknown): never => {
  throw asUnavailable(error);
};

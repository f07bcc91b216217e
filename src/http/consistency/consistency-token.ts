import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Gone, Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';
import { BLOCK_BYTES, SealedBlocks } from '../sealed-blocks.js';

export const CONSISTENCY_TOKEN = 'consistency-token';

const MALFORMED = 'Consistency-Token must be the Consistency-Token of an earlier response';
const READ_AGAIN =
  'Consistency-Token is from another log, or from a state that was lost; repeat the request without Consistency-Token';

/** The token names a position that this log does not have. */
export const gone = (): Gone => new Gone(READ_AGAIN);

const malformed = (): Invalid => new Invalid(MALFORMED);

/** The tokens of one log. */
class Codec {
  private readonly blocks: SealedBlocks;
  private readonly process = randomBytes(4).readUInt32BE();
  private written = 0;

  constructor(logId: string) {
    this.blocks = new SealedBlocks(`consistency of ${logId}`);
  }

  write(position: bigint): string {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    block.writeBigInt64BE(position, 0);
    // No two tokens are alike: equal ones would show that no other organization sends events.
    block.writeUInt32BE(this.process, 8);
    block.writeUInt32BE((this.written = (this.written + 1) >>> 0), 12);
    return this.blocks.seal(block)[0]!;
  }

  read(token: string): bigint {
    const position = this.blocks.open(token, { malformed, foreign: gone }).readBigInt64BE(0);
    // Half of the tokens with a changed character name such a position; the others are beyond the head.
    if (position < BEGINNING) throw malformed();
    return position;
  }
}

/**
 * Writes and reads the header `Consistency-Token`: a position of the log, encrypted with a key that every instance
 * derives from the log's id. Clients can read nothing in a token, such as how many events other organizations send.
 */
@Injectable()
export class ConsistencyTokens {
  private codec: Codec | undefined;

  constructor(private readonly log: EventLog) {}

  /**
   * Adds the header to a response that includes everything up to `position`. If the request named a later one, the
   * response names that: a client that always sends the newest token it has seen must not be led back by a duplicate of
   * an old event, or by a page of the feed.
   */
  async add(reply: FastifyReply, position: bigint | number): Promise<void> {
    this.codec ??= new Codec(await this.log.id());
    const own = BigInt(position);
    const { minPosition } = reply.request;
    void reply.header(
      CONSISTENCY_TOKEN,
      this.codec.write(minPosition !== null && minPosition > own ? minPosition : own),
    );
  }

  /** Adds the header for the position of a command's result. @returns the result */
  async addTo<Result>(reply: FastifyReply, { result, position }: AtPosition<Result>): Promise<Result> {
    await this.add(reply, position);
    return result;
  }

  /**
   * @returns the position that the token names
   * @throws Invalid if it is malformed, Gone if it is a token of another log
   */
  async read(token: string): Promise<bigint> {
    this.codec ??= new Codec(await this.log.id());
    return this.codec.read(token);
  }
}

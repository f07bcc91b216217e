import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Gone, Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';
import { BLOCK_BYTES, SealedBlocks } from '../sealed-blocks.js';

export const CONSISTENCY_TOKEN = 'consistency-token';

const MALFORMED = 'Consistency-Token must be the Consistency-Token of an earlier response';
const FOREIGN_OR_LOST =
  'Consistency-Token is from another log, or from a state that was lost; repeat the request without Consistency-Token';

/** The error for a token whose position this log does not have. */
export const gone = (): Gone => new Gone(FOREIGN_OR_LOST);

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

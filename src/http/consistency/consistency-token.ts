import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Gone, Invalid } from '../../errors.js';
import type { AtPosition } from '../../event-log/command-queue.js';
import { BEGINNING, EventLog } from '../../event-log/event-log.js';

export const CONSISTENCY_TOKEN = 'consistency-token';

const FORM = /^([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{22})$/;
const CIPHER = 'aes-128-ecb';
const BLOCK_BYTES = 16;
const LOG_MARK_BYTES = 6;
const MALFORMED = 'Consistency-Token must be the Consistency-Token of an earlier response';
const READ_AGAIN = 'Read again without Consistency-Token';

/** The tokens of one log. */
class Codec {
  private readonly logMark: string;
  /** One block at a time, without chaining, so that one object serves all tokens. */
  private readonly cipher: ReturnType<typeof createCipheriv>;
  private readonly decipher: ReturnType<typeof createDecipheriv>;
  private readonly process = randomBytes(4).readUInt32BE();
  private written = 0;

  constructor(logId: string) {
    const digest = createHash('sha256').update(`consistency of ${logId}`).digest();
    const key = digest.subarray(0, BLOCK_BYTES);
    this.cipher = createCipheriv(CIPHER, key, null).setAutoPadding(false);
    this.decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false);
    this.logMark = digest.subarray(BLOCK_BYTES, BLOCK_BYTES + LOG_MARK_BYTES).toString('base64url');
  }

  write(position: bigint): string {
    const block = Buffer.allocUnsafe(BLOCK_BYTES);
    block.writeBigInt64BE(position, 0);
    // No two tokens are alike: equal ones would show that no other organization sends events.
    block.writeUInt32BE(this.process, 8);
    block.writeUInt32BE((this.written = (this.written + 1) >>> 0), 12);
    return `${this.logMark}.${this.cipher.update(block).toString('base64url')}`;
  }

  read(token: string): bigint {
    const [, logMark, packed] = FORM.exec(token) ?? [];
    if (packed === undefined) throw new Invalid(MALFORMED);
    const block = Buffer.from(packed, 'base64url');
    if (block.toString('base64url') !== packed) throw new Invalid(MALFORMED);
    if (logMark !== this.logMark) throw gone();
    const position = this.decipher.update(block).readBigInt64BE(0);
    // Half of the tokens with a changed character name such a position; the others are beyond the head.
    if (position < BEGINNING) throw new Invalid(MALFORMED);
    return position;
  }
}

/** The token names a position that this log does not have. */
export const gone = (): Gone => new Gone(READ_AGAIN);

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

import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';
import { Gone, Invalid } from '../../errors.js';

/** A place in the feed. */
export interface Place {
  /** In the log. */
  readonly position: number;
  /** The first 8 hexadecimal digits of the id of the event there: another one is there after a restore. */
  readonly event: string;
  /**
   * Stands for the parked events at or before the position that concern the organization. An event that is applied after
   * all is shown at its own position, which the reader has passed.
   */
  readonly parked: number;
}

const FORM = /^([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{22})$/;
const BLOCK_BYTES = 16;
const CIPHER = 'aes-128-ecb';

/** Says what an id has to be. */
export const NO_ID = 'lastEventId must be the id of an element of this feed';
const START_AGAIN = 'Start again without lastEventId';

/**
 * The ids of a feed's elements. They are one encrypted block, which every instance can read and nobody else, so that no
 * client builds on what is in it, or learns how many events others have.
 */
export class FeedIds {
  private readonly log: string;
  private readonly key: Buffer;

  constructor(logId: string) {
    const digest = createHash('sha256').update(`feed of ${logId}`).digest();
    this.key = digest.subarray(0, BLOCK_BYTES);
    this.log = digest.subarray(BLOCK_BYTES, BLOCK_BYTES + 6).toString('base64url');
  }

  /** Of many places at once, which costs little more than of one. */
  write(places: readonly Place[]): string[] {
    const plain = Buffer.alloc(places.length * BLOCK_BYTES);
    for (const [index, { position, event, parked }] of places.entries()) {
      plain.writeBigInt64BE(BigInt(position), index * BLOCK_BYTES);
      plain.write(event, index * BLOCK_BYTES + 8, 'hex');
      plain.writeInt32BE(parked, index * BLOCK_BYTES + 12);
    }
    const cipher = createCipheriv(CIPHER, this.key, null).setAutoPadding(false);
    const blocks = Buffer.concat([cipher.update(plain), cipher.final()]);
    return places.map((_, index) => {
      const block = blocks.subarray(index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES);
      return `${this.log}.${block.toString('base64url')}`;
    });
  }

  /**
   * @throws Invalid unless it has the form of an id
   * @throws Gone if it is of another log
   */
  read(id: string): Place {
    const [, log, packed] = FORM.exec(id) ?? [];
    const block = Buffer.from(packed ?? '', 'base64url');
    if (log === undefined || block.toString('base64url') !== packed) throw new Invalid(NO_ID);
    if (log !== this.log) throw new Gone(START_AGAIN);
    const decipher = createDecipheriv(CIPHER, this.key, null).setAutoPadding(false);
    const plain = Buffer.concat([decipher.update(block), decipher.final()]);
    const position = plain.readBigInt64BE(0);
    // Nobody but this service makes a block that is none of its own.
    if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER)) throw new Gone(START_AGAIN);
    return { position: Number(position), event: plain.toString('hex', 8, 12), parked: plain.readInt32BE(12) };
  }
}

export const eventMark = (eventId: string): string => eventId.slice(0, 8);

/** @throws Gone unless the log has the event of this place, and nothing before it was applied since */
export const requireSame = (is: boolean): void => {
  if (!is) throw new Gone(START_AGAIN);
};

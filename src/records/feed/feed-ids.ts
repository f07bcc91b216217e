import { Gone, Invalid } from '../../errors.js';
import { BLOCK_BYTES, SealedBlocks } from '../../http/sealed-blocks.js';

/** A position in the feed. */
export interface FeedPosition {
  /** Position in the log. */
  readonly position: number;
  /**
   * The first 8 hexadecimal digits of the id of the event at the position. After a restore, another event with other
   * digits is at the position.
   */
  readonly event: string;
}

/** The message for a malformed id. */
export const MALFORMED_ID = 'lastEventId must be the id of an element of this feed';
const FOREIGN_ID = 'lastEventId is from another log, or from before a restore; start again without lastEventId';
const ERRORS = { malformed: () => new Invalid(MALFORMED_ID), foreign: () => new Gone(FOREIGN_ID) };

/**
 * The ids of a feed's elements. Each id is one encrypted block that only instances of this service can read, so that
 * clients do not depend on its content, and do not learn how many events other organizations have.
 */
export class FeedIds {
  private readonly blocks: SealedBlocks;

  constructor(logId: string) {
    this.blocks = new SealedBlocks(`feed of ${logId}`);
  }

  /** Creates the ids of many positions in one call, which costs little more than a single id. */
  write(places: readonly FeedPosition[]): string[] {
    const plain = Buffer.alloc(places.length * BLOCK_BYTES);
    for (const [index, { position, event }] of places.entries()) {
      plain.writeBigInt64BE(BigInt(position), index * BLOCK_BYTES);
      plain.write(event, index * BLOCK_BYTES + 8, 'hex');
    }
    return this.blocks.seal(plain);
  }

  /**
   * @throws Invalid if the id is malformed
   * @throws Gone if the id is from another log, or an earlier version gave it out while events were parked: a retry by that
   *   version changed records before the id
   */
  read(id: string): FeedPosition {
    const plain = this.blocks.open(id, ERRORS);
    const position = plain.readBigInt64BE(0);
    // Authenticates the id: a foreign block does not decrypt to a valid position.
    if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER)) throw ERRORS.foreign();
    if (plain.readInt32BE(12) !== 0) throw ERRORS.foreign();
    return { position: Number(position), event: plain.toString('hex', 8, 12) };
  }
}

export const eventMark = (eventId: string): string => eventId.slice(0, 8);

/** @throws Gone if the log no longer has the event of the id */
export const requireInLog = (isInLog: boolean): void => {
  if (!isInLog) throw ERRORS.foreign();
};

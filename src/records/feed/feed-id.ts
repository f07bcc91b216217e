import { Gone, Invalid } from '../../errors.js';
import { BLOCK_BYTES, SealedBlocks } from '../../http/sealed-blocks.js';

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

/** The message for a malformed id. */
export const NO_ID = 'lastEventId must be the id of an element of this feed';
const OF_OTHER_LOG = 'lastEventId is from another log, or from before a restore; start again without lastEventId';
const REFUSALS = { malformed: () => new Invalid(NO_ID), foreign: () => new Gone(OF_OTHER_LOG) };

/**
 * The ids of a feed's elements. Each id is one encrypted block that only instances of this service can read, so that
 * clients do not depend on its content, and do not learn how many events other organizations have.
 */
export class FeedIds {
  private readonly blocks: SealedBlocks;

  constructor(logId: string) {
    this.blocks = new SealedBlocks(`feed of ${logId}`);
  }

  /** Of many places at once, which costs little more than of one. */
  write(places: readonly Place[]): string[] {
    const plain = Buffer.alloc(places.length * BLOCK_BYTES);
    for (const [index, { position, event, parked }] of places.entries()) {
      plain.writeBigInt64BE(BigInt(position), index * BLOCK_BYTES);
      plain.write(event, index * BLOCK_BYTES + 8, 'hex');
      plain.writeInt32BE(parked, index * BLOCK_BYTES + 12);
    }
    return this.blocks.seal(plain);
  }

  /**
   * @throws Invalid unless it has the form of an id
   * @throws Gone if it is of another log
   */
  read(id: string): Place {
    const plain = this.blocks.open(id, REFUSALS);
    const position = plain.readBigInt64BE(0);
    // Authenticates the id: a foreign block does not decrypt to a valid position.
    if (position < 0n || position > BigInt(Number.MAX_SAFE_INTEGER)) throw REFUSALS.foreign();
    return { position: Number(position), event: plain.toString('hex', 8, 12), parked: plain.readInt32BE(12) };
  }
}

export const eventMark = (eventId: string): string => eventId.slice(0, 8);

/** @throws Gone unless the log has the event of this place, and nothing before it was applied since */
export const requireSame = (is: boolean): void => {
  if (!is) throw REFUSALS.foreign();
};

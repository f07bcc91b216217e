import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { Invalid } from '../../errors.js';
import type { AskedSelection } from '../selection.js';

/** Says what a cursor has to be. */
export const NO_CURSOR = 'cursor must be the nextCursor of the page before, with the same parameters besides limit';

/** Where a page ended. */
export interface Place {
  /** The last instant of the range, as of the first page. ms */
  readonly to: number;
  /** The log's position as of the first page. */
  readonly upTo: number;
  /** Of the last key: its negated instant (ms) and its id. */
  readonly after: readonly [newest: number, id: string];
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Of `to`, `upTo` and the instant. */
const NUMBERS_BYTES = 24;

const pack = ({ to, upTo, after: [newest, id] }: Place): Buffer => {
  const numbers = Buffer.alloc(NUMBERS_BYTES);
  [to, upTo, newest].forEach((each, index) => numbers.writeBigInt64BE(BigInt(each), 8 * index));
  return Buffer.concat([numbers, Buffer.from(id)]);
};

const unpack = (packed: Buffer): Place => {
  const [to, upTo, newest] = [0, 8, 16].map((at) => Number(packed.readBigInt64BE(at))) as [number, number, number];
  return { to, upTo, after: [newest, packed.toString('utf8', NUMBERS_BYTES)] };
};

/**
 * Cursors of one log, for the selection that they page through. Every instance can read them and nobody else, and no two
 * are alike: the log's position would tell how much others send, and its standing still that they send nothing.
 */
export class Cursors {
  private readonly key: Buffer;

  constructor(logId: string) {
    this.key = createHash('sha256').update(`list of ${logId}`).digest();
  }

  write(selection: AskedSelection, place: Place): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(Buffer.from(JSON.stringify(selection)));
    const parts = [nonce, cipher.update(pack(place)), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64url');
  }

  /** @throws Invalid unless `write` made it for the same selection */
  read(selection: AskedSelection, cursor: string): Place {
    const bytes = Buffer.from(cursor, 'base64url');
    try {
      if (bytes.toString('base64url') !== cursor) throw new RangeError('Not as it was written');
      const nonce = bytes.subarray(0, NONCE_BYTES);
      const decipher = createDecipheriv(CIPHER, this.key, nonce, { authTagLength: TAG_BYTES })
        .setAAD(Buffer.from(JSON.stringify(selection)))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      return unpack(Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]));
    } catch {
      throw new Invalid(NO_CURSOR);
    }
  }
}

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { Invalid } from '../../errors.js';

/** Texts and safe integers of the last row of a page, after which the next page begins. */
type Place = readonly (string | number)[];

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const authenticated = (scope: unknown): Buffer => Buffer.from(JSON.stringify(scope) ?? '');

const isLike = (place: unknown, like: Place): boolean =>
  Array.isArray(place) &&
  place.length === like.length &&
  place.every(
    (each, index) => typeof each === typeof like[index] && (typeof each === 'string' || Number.isSafeInteger(each)),
  );

/**
 * The cursors of one list. They are encrypted: every instance of the service can read them, and clients cannot, because
 * the position of the log would tell how much other organizations send. No two cursors are alike, so that equal ones do
 * not tell that nothing was sent.
 */
export class PageCursors {
  private readonly key: Buffer;

  /**
   * @param logId of the log that the service runs on
   * @param purpose names the list
   * @param issue what a client is told of any cursor that cannot be read
   */
  constructor(
    logId: string,
    purpose: string,
    private readonly issue: string,
  ) {
    this.key = createHash('sha256').update(`page of ${purpose} of ${logId}`).digest();
  }

  /** @param scope a JSON value that the request of the next page must have too; it is not in the cursor */
  write(scope: unknown, place: Place): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(authenticated(scope));
    const parts = [nonce, cipher.update(JSON.stringify(place)), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64url');
  }

  /**
   * @param like a place of the same shape
   * @throws Invalid unless `write` made the cursor for the same scope, of a place of that shape
   */
  read<Like extends Place>(scope: unknown, cursor: string, like: Like): Like {
    const bytes = Buffer.from(cursor, 'base64url');
    try {
      if (bytes.toString('base64url') !== cursor) throw new RangeError('The cursor is not canonical');
      const decipher = createDecipheriv(CIPHER, this.key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(authenticated(scope))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      const place: unknown = JSON.parse(text.toString());
      if (!isLike(place, like)) throw new RangeError('The place has another shape');
      return place as Like;
    } catch {
      throw new Invalid(this.issue);
    }
  }
}

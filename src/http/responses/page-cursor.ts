import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import { Invalid } from '../../errors.js';

/** The strings and safe integers that identify the last row of a page, after which the next page begins. */
type Position = readonly (string | number)[];

/** The message for an invalid cursor of a list. */
export const INVALID_CURSOR =
  'cursor must be the nextCursor of the previous page, with the same parameters except limit';

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

const authenticated = (scope: unknown): Buffer => Buffer.from(JSON.stringify(scope) ?? '');

const hasSameShape = (position: unknown, like: Position): boolean =>
  Array.isArray(position) &&
  position.length === like.length &&
  position.every(
    (each, index) => typeof each === typeof like[index] && (typeof each === 'string' || Number.isSafeInteger(each)),
  );

/**
 * Writes and reads the cursors of one list. Cursors are encrypted with a key that every instance of the service derives
 * from the id of the log. Clients cannot read the position of the log in a cursor, which would show how many events other
 * organizations send. Two cursors for the same position differ, because equal cursors would show that no events arrived.
 */
export class PageCursors {
  private readonly key: Buffer;

  /**
   * @param logId the id of the event log
   * @param purpose the name of the list
   * @param issue the error message for a cursor that cannot be read
   */
  constructor(
    logId: string,
    purpose: string,
    private readonly issue: string,
  ) {
    this.key = createHash('sha256').update(`page of ${purpose} of ${logId}`).digest();
  }

  /** @param scope a JSON value that the request for the next page must have too; the cursor does not contain the value */
  write(scope: unknown, position: Position): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.key, nonce).setAAD(authenticated(scope));
    const parts = [nonce, cipher.update(JSON.stringify(position)), cipher.final(), cipher.getAuthTag()];
    return Buffer.concat(parts).toString('base64url');
  }

  /**
   * @param like an example with the types of the expected position
   * @param added the last values of the position, if a cursor of an earlier version lacks them
   * @throws Invalid unless `write` created the cursor for the same scope and a position with the same types
   */
  read<Like extends Position>(scope: unknown, cursor: string, like: Like, added: Position = []): Like {
    const bytes = Buffer.from(cursor, 'base64url');
    try {
      if (bytes.toString('base64url') !== cursor) throw new RangeError('The cursor is not canonical');
      const decipher = createDecipheriv(CIPHER, this.key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES })
        .setAAD(authenticated(scope))
        .setAuthTag(bytes.subarray(-TAG_BYTES));
      const text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)), decipher.final()]);
      const written: unknown = JSON.parse(text.toString());
      const isEarlier = Array.isArray(written) && written.length === like.length - added.length;
      const position: unknown = isEarlier ? [...(written as Position), ...added] : written;
      if (!hasSameShape(position, like))
        throw new RangeError('The values in the cursor do not have the expected types');
      return position as Like;
    } catch {
      throw new Invalid(this.issue);
    }
  }
}

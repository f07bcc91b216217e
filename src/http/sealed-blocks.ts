import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';

/** Bytes of one block. */
export const BLOCK_BYTES = 16;

/** Base64 writes 3 bytes as 4 characters: with this padding, all blocks are encoded in one call. */
const PADDED_BYTES = 18;
const PADDED_CHARACTERS = 24;
const BLOCK_CHARACTERS = 22;

const FORM = /^([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{22})$/;
const CIPHER = 'aes-128-ecb';
const MARK_BYTES = 6;

/** What to throw for a text that cannot be opened. */
interface Refusals {
  readonly malformed: () => Error;
  /** The text was sealed for another purpose, such as another log. */
  readonly foreign: () => Error;
}

/**
 * Texts that hold one encrypted block each. Every instance can read them, because the key follows from the purpose, and
 * clients cannot: nobody builds on what is in them.
 */
export class SealedBlocks {
  private readonly mark: string;
  /** Blocks are not chained, so that one object serves all of them. */
  private readonly cipher: ReturnType<typeof createCipheriv>;
  private readonly decipher: ReturnType<typeof createDecipheriv>;

  /** @param purpose what is sealed, and of which log */
  constructor(purpose: string) {
    const digest = createHash('sha256').update(purpose).digest();
    const key = digest.subarray(0, BLOCK_BYTES);
    this.mark = digest.subarray(BLOCK_BYTES, BLOCK_BYTES + MARK_BYTES).toString('base64url');
    this.cipher = createCipheriv(CIPHER, key, null).setAutoPadding(false);
    this.decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false);
  }

  /**
   * Seals many blocks at once, which costs little more than one.
   * @param blocks one after the other
   */
  seal(blocks: Buffer): string[] {
    const sealed = this.cipher.update(blocks);
    const count = sealed.length / BLOCK_BYTES;
    const padded = Buffer.alloc(count * PADDED_BYTES);
    for (let index = 0; index < count; index += 1)
      sealed.copy(padded, index * PADDED_BYTES, index * BLOCK_BYTES, (index + 1) * BLOCK_BYTES);
    const text = padded.toString('base64url');
    return Array.from({ length: count }, (_, index) => {
      const start = index * PADDED_CHARACTERS;
      return `${this.mark}.${text.slice(start, start + BLOCK_CHARACTERS)}`;
    });
  }

  /** @returns the block; random bytes if nobody has sealed the text */
  open(text: string, { malformed, foreign }: Refusals): Buffer {
    const [, mark, packed] = FORM.exec(text) ?? [];
    const block = Buffer.from(packed ?? '', 'base64url');
    if (mark === undefined || block.toString('base64url') !== packed) throw malformed();
    if (mark !== this.mark) throw foreign();
    return this.decipher.update(block);
  }
}

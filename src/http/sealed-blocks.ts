import { createCipheriv, createDecipheriv, createHash } from 'node:crypto';

/** The size of one block in bytes. */
export const BLOCK_BYTES = 16;

/**
 * Base64 encodes 3 bytes as 4 characters. Blocks are padded to a multiple of 3 bytes, so that one call encodes all
 * blocks.
 */
const PADDED_BYTES = 18;
const PADDED_CHARACTERS = 24;
const BLOCK_CHARACTERS = 22;

const FORM = /^([A-Za-z0-9_-]{8})\.([A-Za-z0-9_-]{22})$/;
const CIPHER = 'aes-128-ecb';
const MARK_BYTES = 6;

/** Errors for texts that cannot be opened. */
interface OpenErrors {
  readonly malformed: () => Error;
  /** The text was sealed for another purpose, such as another log. */
  readonly foreign: () => Error;
}

/**
 * Writes and reads texts that contain one encrypted block each. Every instance derives the same key from the purpose.
 * Clients cannot read the block, so that they do not depend on its content.
 */
export class SealedBlocks {
  private readonly mark: string;
  /** Blocks are not chained, so that one object encrypts all blocks. */
  private readonly cipher: ReturnType<typeof createCipheriv>;
  private readonly decipher: ReturnType<typeof createDecipheriv>;

  /** @param purpose a name for the kind of content and the id of the log */
  constructor(purpose: string) {
    const digest = createHash('sha256').update(purpose).digest();
    const key = digest.subarray(0, BLOCK_BYTES);
    this.mark = digest.subarray(BLOCK_BYTES, BLOCK_BYTES + MARK_BYTES).toString('base64url');
    this.cipher = createCipheriv(CIPHER, key, null).setAutoPadding(false);
    this.decipher = createDecipheriv(CIPHER, key, null).setAutoPadding(false);
  }

  /**
   * Encrypts many blocks in one call, which takes little more time than one block.
   * @param blocks the concatenated blocks
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

  /** @returns the block; random bytes if this service did not seal the text */
  open(text: string, { malformed, foreign }: OpenErrors): Buffer {
    const [, mark, sealed] = FORM.exec(text) ?? [];
    const block = Buffer.from(sealed ?? '', 'base64url');
    if (mark === undefined || block.toString('base64url') !== sealed) throw malformed();
    if (mark !== this.mark) throw foreign();
    return this.decipher.update(block);
  }
}

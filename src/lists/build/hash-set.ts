import { hash } from 'node:crypto';
import { HASH_BYTES } from '../sorted-hashes.js';

/** Collects the hashes of expressions, in 8 bytes each. */
export class HashCollector {
  private bytes = Buffer.allocUnsafe(1 << 16);
  private end = 0;

  add(expression: string): void {
    if (this.end === this.bytes.length) this.bytes = Buffer.concat([this.bytes], 2 * this.bytes.length);
    this.end += hash('sha256', expression, 'buffer').copy(this.bytes, this.end, 0, HASH_BYTES);
  }

  /** Returns the hashes, sorted and each once. The collector is empty afterwards. */
  take(): Uint8Array {
    const sorted = new BigUint64Array(this.end / HASH_BYTES);
    const bytes = Buffer.from(sorted.buffer);
    this.bytes.copy(bytes, 0, 0, this.end);
    this.end = 0;
    bytes.swap64();
    sorted.sort();
    let count = 0;
    for (const value of sorted)
      if (count === 0 || value !== sorted[count - 1]) {
        sorted[count] = value;
        count += 1;
      }
    bytes.swap64();
    return new Uint8Array(sorted.buffer.slice(0, count * HASH_BYTES));
  }
}

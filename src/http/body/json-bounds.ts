import { Invalid } from '../../errors.js';

/** How large the structure of a JSON text may be. */
export interface JsonBounds {
  /** Levels of arrays and objects. */
  readonly depth: number;
  /** Values, names included. */
  readonly values: number;
}

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Watches a JSON text while its bytes arrive. To parse megabytes of brackets takes seconds and a hundred times their
 * memory; within bounds it is a matter of milliseconds. Whether the text is JSON at all is for the parser to find out.
 */
export class BoundedJson {
  private depth = 0;
  private values = 1;
  private inString = false;
  private escaped = false;

  constructor(private readonly bounds: JsonBounds) {}

  /** @throws Invalid at the first byte that passes a bound */
  watch(bytes: Uint8Array): void {
    // Local, and by index: this is most of what reading a body costs.
    let { inString, escaped } = this;
    for (let i = 0; i < bytes.length; i += 1) {
      const byte = bytes[i]!;
      if (escaped) escaped = false;
      else if (byte === QUOTE) inString = !inString;
      else if (inString) escaped = byte === BACKSLASH;
      else if (byte === OPEN_ARRAY || byte === OPEN_OBJECT) this.open();
      else if (byte === CLOSE_ARRAY || byte === CLOSE_OBJECT) this.depth -= 1;
      else if (byte === COMMA || byte === COLON) this.count();
    }
    this.inString = inString;
    this.escaped = escaped;
  }

  private open(): void {
    this.depth += 1;
    if (this.depth > this.bounds.depth) throw new Invalid(`The body nests deeper than ${this.bounds.depth} levels`);
    this.count();
  }

  private count(): void {
    this.values += 1;
    if (this.values > this.bounds.values) throw new Invalid(`The body holds more than ${this.bounds.values} values`);
  }
}

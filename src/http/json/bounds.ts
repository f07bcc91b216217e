import { Invalid } from '../../errors.js';

/** Limits on the structure of a JSON text. */
export interface JsonBounds {
  /** Maximum number of nesting levels. */
  readonly depth: number;
  /** Maximum number of values, including property names. */
  readonly values: number;
}

const [QUOTE, COMMA, COLON, BACKSLASH] = [0x22, 0x2c, 0x3a, 0x5c];
const [OPEN_ARRAY, CLOSE_ARRAY, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/**
 * Checks the limits of a JSON text while its bytes arrive. Parsing megabytes of brackets would take seconds and 100
 * times their memory. Does not check whether the text is valid JSON.
 */
export class JsonBoundsChecker {
  private depth = 0;
  private values = 1;
  private inString = false;
  private escaped = false;

  constructor(private readonly bounds: JsonBounds) {}

  /** Checks the next bytes. @throws Invalid at the first byte that exceeds a limit */
  watch(bytes: Uint8Array): void {
    // Local variables and an index loop, because this loop is most of the cost of reading a body.
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
    if (this.values > this.bounds.values) throw new Invalid(`The body has more than ${this.bounds.values} values`);
  }
}

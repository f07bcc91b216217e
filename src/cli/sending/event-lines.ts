import { isUtf8 } from 'node:buffer';
import { createReadStream, type ReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { addAbortSignal, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { linesOf } from '../../runtime/lines.js';
import type { EventIssues, Sendable } from './post-events.js';

const BYTE_ORDER_MARK = Buffer.from('\uFEFF');
/** The maximum length of a line: the maximum size of a request. */
const MAX_LINE_BYTES = 8 * 1024 * 1024;

const withoutByteOrderMark = (line: Buffer): Buffer =>
  line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK) ? line.subarray(BYTE_ORDER_MARK.length) : line;

/**
 * Reads events from files of one JSON object per line, and tracks progress. `-` is standard input. A file may begin with
 * a byte order mark, and its lines may end in CR LF.
 */
export class EventLines {
  /**
   * Lines that are too long or not JSON. Such a line is not sent, because the line would make its whole batch
   * unreadable.
   */
  readonly rejected: EventIssues[] = [];
  private total: number | undefined = 0;
  private done = 0;
  private current: ReadStream | undefined;

  constructor(
    private readonly files: readonly string[],
    /** Skips the first `from` events. */
    private readonly from: number,
    /** Stops reading, even while waiting for input. */
    private readonly signal?: AbortSignal,
  ) {}

  /** The fraction of the input that has been read, from 0 to 1; undefined if the total is unknown. */
  private get fraction(): number | undefined {
    if (this.total === undefined) return undefined;
    return this.total === 0 ? 1 : (this.done + (this.current?.bytesRead ?? 0)) / this.total;
  }

  async *events(): AsyncGenerator<Sendable> {
    for (const file of this.files)
      if (file === '-') this.total = undefined;
      else if (this.total !== undefined) this.total += (await stat(file)).size;
    let count = 0;
    for (const file of this.files) {
      let line = 0;
      for await (const read of linesOf(this.open(file), MAX_LINE_BYTES)) {
        line += 1;
        const place = `${file}:${line}`;
        if (read === undefined) {
          count += 1;
          if (count > this.from)
            this.rejected.push({ place, issues: [`the line is longer than ${MAX_LINE_BYTES} bytes`] });
          continue;
        }
        const bytes = line === 1 ? withoutByteOrderMark(read) : read;
        const text = bytes.toString('utf8');
        if (text.trim() === '') continue;
        count += 1;
        if (count <= this.from) continue;
        if (isUtf8(bytes) && isJson(text)) yield { json: text, place, fraction: this.fraction };
        else this.rejected.push({ place, issues: ['the line is not JSON in UTF-8'] });
      }
      this.done += this.current?.bytesRead ?? 0;
      this.current = undefined;
    }
  }

  private open(file: string): Readable {
    if (file === '-') return this.signal ? addAbortSignal(this.signal, process.stdin) : process.stdin;
    const source = createReadStream(file, { signal: this.signal });
    this.current = source;
    if (!file.endsWith('.gz')) return source;
    const unpacked = createGunzip();
    source.once('error', (error) => unpacked.destroy(error));
    return source.pipe(unpacked);
  }
}

const isJson = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
};

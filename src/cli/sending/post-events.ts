import { open, stat } from 'node:fs/promises';
import { isUtf8 } from 'node:buffer';
import { createReadStream, type ReadStream } from 'node:fs';
import { addAbortSignal, type Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { linesOf } from '../../runtime/lines.js';

/**
 * Checks that files can be read, so that a mistyped name fails before anything is sent.
 * @param files the paths; `-` is standard input
 * @throws Error if a file cannot be read
 */
export const requireReadable = async (files: readonly string[]): Promise<void> => {
  for (const file of files) {
    if (file === '-') continue;
    try {
      const handle = await open(file);
      const isFolder = (await handle.stat()).isDirectory();
      await handle.close();
      if (isFolder) throw new Error('it is a folder');
    } catch (error) {
      throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  }
};

/** An event to send. */
export interface Sendable {
  /** The CloudEvent as JSON, on one line. */
  readonly json: string;
  /** Where the event comes from, such as a file and a line. The place is shown if the event is rejected. */
  readonly place: string;
  /** The fraction of the input up to and including this event, from 0 to 1; absent if unknown. */
  readonly fraction?: number | undefined;
}

/** The problems of one event. */
export interface EventIssues {
  readonly place: string;
  readonly id?: string;
  readonly issues: readonly string[];
}

export interface IngestionEndpoint {
  /** The base URL, such as `http://127.0.0.1:3000`. */
  readonly url: string;
  readonly key: string;
  /** If true, the endpoint validates the events without storing them. Default: false. */
  readonly isDryRun?: boolean;
  /** A sentence that is added to the error if the endpoint rejects the key. */
  readonly keyHint?: string | undefined;
}

const TIME_LIMIT_MS = 30_000;

interface IndexedIssues {
  readonly index: number;
  readonly id?: string;
  readonly issues: readonly { readonly message: string }[];
}

interface IngestionResponse {
  readonly accepted?: number;
  readonly duplicates?: number;
  readonly rejected?: readonly IndexedIssues[];
  readonly warnings?: readonly IndexedIssues[];
  readonly message?: string;
  readonly issues?: readonly { message: string }[];
}

/**
 * Returns all events of a rejected batch. Each event has its own issues if the response names the issues; otherwise
 * each event has the message of the response.
 */
export const rejectAll = (
  batch: readonly Sendable[],
  { message = 'rejected', issues = [] }: IngestionResponse,
): EventIssues[] => {
  const issuesByEvent = batch.map((): string[] => []);
  for (const { message: issue } of issues) {
    const [, index, text] = /^event (\d+): (.*)$/s.exec(issue) ?? [];
    issuesByEvent[Number(index)]?.push(text!);
  }
  return batch.map(({ place }, index) => ({
    place,
    issues: issuesByEvent[index]!.length > 0 ? issuesByEvent[index]! : [message],
  }));
};

/** Converts the notes of a response, which name events by index, to issues that name events by place. */
export const withPlaces = (batch: readonly Sendable[], notes: readonly IndexedIssues[] = []): EventIssues[] =>
  notes.map(({ index, id, issues }) => ({
    place: batch[index]!.place,
    ...(id !== undefined && { id }),
    issues: issues.map(({ message }) => message),
  }));

/** The endpoint has not confirmed the batch, and it is unknown whether the batch was stored. A retry may help. */
export class TemporaryFailure extends Error {
  constructor(
    reason: string,
    readonly retryAfterMs: number,
  ) {
    super(reason);
  }
}

const reasonOf = (error: unknown): string => {
  const { message, cause } = error as Error;
  return cause instanceof Error ? `${message}: ${cause.message || (cause as NodeJS.ErrnoException).code}` : message;
};

/**
 * Sends one batch.
 * @throws TemporaryFailure if the batch should be retried; Error if a retry would not help
 */
export const post = async (
  batch: readonly Sendable[],
  endpoint: IngestionEndpoint,
  signal: AbortSignal | undefined,
) => {
  const { url, key, isDryRun = false, keyHint } = endpoint;
  const limit = AbortSignal.timeout(TIME_LIMIT_MS);
  let response: Response;
  let result: IngestionResponse;
  let location: string | null;
  try {
    response = await fetch(new URL(isDryRun ? '/v2/events?dryRun=true' : '/v2/events', url), {
      method: 'POST',
      headers: { 'x-api-key': key, 'content-type': 'application/cloudevents-batch+json' },
      body: `[${batch.map(({ json }) => json).join(',')}]`,
      // `fetch` would send the key along to wherever a redirect leads.
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    location = response.headers.get('location');
    result = location === null ? ((await response.json()) as IngestionResponse) : {};
  } catch (error) {
    throw new TemporaryFailure(reasonOf(error), 0);
  }
  const { status } = response;
  if (location !== null)
    throw new Error(
      `${url} redirects to ${location} (status ${status}). Redirects are not followed, so that the key reaches no other server; use the final address of the service as the URL`,
    );
  if (status === 200 || status === 400 || status === 413)
    return { status, result, token: response.headers.get('consistency-token') };
  const hint = status === 401 && keyHint !== undefined ? `. ${keyHint}` : '';
  const reason = `${url} responded with ${status}: ${result.message ?? response.statusText}${hint}`;
  if (status === 429 || (status >= 502 && status <= 504))
    throw new TemporaryFailure(reason, 1_000 * Number(response.headers.get('retry-after') ?? 0) || 0);
  throw new Error(reason);
};

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

import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import { ENTRY_TYPES } from '../../events/record.js';
import { reviewsOf, type StoredReview } from '../../events/types/verdicts.js';
import { assetStatusStream, organizationOf } from '../../events/streams.js';
import { type RecordedEvent, MAX_PAGE_BYTES, type NewEvent } from '../event-log.js';
import { isSlug } from '../../events/declaring/fields.js';
import { formatInstant } from '../../events/instant.js';
import { linesOf } from '../../runtime/lines.js';

/** The data of an event before validation. */
interface Unvalidated {
  readonly organization?: unknown;
  readonly changeId?: unknown;
}

const VERDICT_TYPES: ReadonlySet<string> = new Set(ENTRY_TYPES);

/** Whether an event is an entry, or the deletion of an entry, in the status history of an asset. */
export const isVerdict = ({ stream, type }: Pick<RecordedEvent, 'stream' | 'type'>): boolean =>
  VERDICT_TYPES.has(type) && stream.startsWith(assetStatusStream(''));

/**
 * Selects the part of each event that concerns one organization: the events in its streams, and all states of the
 * verdicts that name its brands, without the brands of other organizations.
 */
export class OrganizationPart {
  /** The verdicts that name the organization in any of their states. */
  private readonly changeIds = new Set<unknown>();

  constructor(private readonly organization: string) {}

  /** Must be called for every event of the log before the first call of `of`: a deletion does not name organizations. */
  note(event: RecordedEvent): void {
    if (isVerdict(event) && this.reviews(event).length > 0) this.changeIds.add((event.data as Unvalidated).changeId);
  }

  /** Returns the part of an event that concerns the organization; undefined if the event does not concern it. */
  of(event: RecordedEvent): RecordedEvent | undefined {
    const data = (event.data ?? {}) as Unvalidated;
    if (isVerdict(event)) {
      if (!this.changeIds.has(data.changeId)) return undefined;
      return 'brandReviews' in data ? { ...event, data: { ...data, brandReviews: this.reviews(event) } } : event;
    }
    if (organizationOf(event.stream) !== this.organization) return undefined;
    // A program that appends to the log directly may have stored an event of another organization in this stream. Such
    // an event is parked. It keeps its place in the stream, but not its content.
    return data.organization === this.organization ? event : { ...event, data: {} };
  }

  private reviews({ data }: RecordedEvent): readonly StoredReview[] {
    return reviewsOf(data).filter((review) => review?.organization === this.organization);
  }
}

const FORMAT = 'threat-protection/organization';
const VERSION = 1;
const MAX_LINE_BYTES = 8 * 1_024 * 1_024;
const PAGE = 1_000;
const CHUNK_BYTES = 256 * 1_024;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** The first line of a file. */
export interface Header {
  /** The id of the log that the events come from. */
  readonly logId: string;
  readonly organization: string;
  /** The file contains the organization's events up to this position of that log. */
  readonly position: bigint;
}

/** An event of a file. */
export interface FileEvent extends NewEvent {
  readonly stream: string;
  /** The position of the event in its stream, from 0, without gaps; of a verdict, its position in the source. */
  readonly revision: bigint;
  /** The position of the event in the log that it comes from. */
  readonly position: bigint;
}

/** The number of events by type. */
type Counts = Readonly<Record<string, number>>;

/** The last line of a file. */
export interface Trailer {
  readonly events: number;
  readonly types: Counts;
  /** SHA-256 of all lines before the trailer with their line breaks, hex. */
  readonly sha256: string;
}

/** The file is truncated or changed, or is not a file of `organizations export`. */
export class DamagedFile extends Error {}

/** Counts the events of a file and hashes its lines. */
class Digest {
  private readonly hash = createHash('sha256');
  private readonly types = new Map<string, number>();

  line(text: string | Buffer): void {
    this.hash.update(text).update('\n');
  }

  event({ type }: { readonly type: string }): void {
    this.types.set(type, (this.types.get(type) ?? 0) + 1);
  }

  end(): Trailer {
    const types = Object.fromEntries([...this.types].sort(([a], [b]) => (a < b ? -1 : 1)));
    const events = Object.values(types).reduce((sum, count) => sum + count, 0);
    return { events, types, sha256: this.hash.digest('hex') };
  }
}

/** Writes an event as a CloudEvent. `source` and `id` are those of the log; `metadata` holds those of the sender. */
const lineOf = (event: RecordedEvent, logId: string): string =>
  JSON.stringify({
    specversion: '1.0',
    id: event.id,
    source: `urn:uuid:${logId}`,
    type: event.type,
    time: formatInstant(event.recordedAt),
    stream: event.stream,
    revision: String(event.revision),
    position: String(event.position),
    // The value of an extension is a string, a number or a boolean.
    metadata: JSON.stringify(event.metadata ?? {}),
    data: event.data ?? null,
  });

/**
 * Yields the text of a file, page by page.
 * @param onEnd receives the trailer before its line is yielded
 * @throws Error if an event is longer than a line may be
 */
export async function* writeTransfer(
  { logId, organization, position }: Header,
  pages: AsyncIterable<readonly RecordedEvent[]>,
  onEnd: (trailer: Trailer) => void,
): AsyncGenerator<string> {
  const digest = new Digest();
  const positions = { after: '-1', upTo: String(position) };
  const header = JSON.stringify({ format: FORMAT, version: VERSION, logId, organization, positions });
  digest.line(header);
  yield `${header}\n`;
  for await (const page of pages) {
    const lines = page.map((event) => {
      const line = lineOf(event, logId);
      if (Buffer.byteLength(line) > MAX_LINE_BYTES)
        throw new Error(`The event ${event.id} at position ${event.position} is longer than ${MAX_LINE_BYTES} bytes`);
      digest.line(line);
      digest.event(event);
      return `${line}\n`;
    });
    yield lines.join('');
  }
  const trailer = digest.end();
  onEnd(trailer);
  yield `${JSON.stringify(trailer)}\n`;
}

type Json = Readonly<Record<string, unknown>>;

const parse = (text: string): Json => {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === 'object' && value !== null) return value as Json;
  } catch {
    // The error of the parser would quote the line.
  }
  throw new DamagedFile('not a JSON object');
};

const headerOf = ({ format, version, logId, organization, positions }: Json): Header => {
  if (format !== FORMAT) throw new DamagedFile('this is not a file of `organizations export`');
  if (version !== VERSION)
    throw new DamagedFile(`the file has version ${String(version)} of the format, but this program reads ${VERSION}`);
  const upTo = (positions as { readonly upTo?: unknown } | undefined)?.upTo;
  if (typeof logId !== 'string' || !isSlug(organization) || typeof upTo !== 'string' || !/^\d+$/.test(upTo))
    throw new DamagedFile('the header is incomplete');
  return { logId, organization, position: BigInt(upTo) };
};

/** @throws DamagedFile if this is no event of the organization */
const eventOf = (line: Json, organization: string): FileEvent => {
  const { id, type, stream, revision, position, metadata, data } = line;
  if (
    typeof id !== 'string' ||
    !UUID.test(id) ||
    typeof type !== 'string' ||
    typeof stream !== 'string' ||
    typeof revision !== 'string' ||
    !/^\d+$/.test(revision) ||
    typeof position !== 'string' ||
    !/^\d+$/.test(position) ||
    typeof metadata !== 'string' ||
    data === undefined
  )
    throw new DamagedFile('not an event');
  const isOwn = isVerdict({ stream, type })
    ? reviewsOf(data).every((review) => review?.organization === organization)
    : organizationOf(stream) === organization;
  if (!isOwn) throw new DamagedFile(`the event ${id} in stream ${stream} does not belong to ${organization}`);
  const content = { data: data as object, metadata: parse(metadata) };
  return { id, type, stream, revision: BigInt(revision), position: BigInt(position), ...content };
};

async function* chunksOf(file: FileHandle, onRead: (bytes: number) => void): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(CHUNK_BYTES), 0, CHUNK_BYTES, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    onRead(position);
    yield buffer.subarray(0, bytesRead);
  }
}

interface TransferPage {
  readonly header: Header;
  readonly events: readonly FileEvent[];
}

/**
 * Reads a file, page by page, and verifies the file while reading it: the error of a damaged file may come after its
 * events.
 * @param onRead called with the number of compressed bytes that have been read
 * @throws DamagedFile
 */
export async function* readTransfer(
  file: FileHandle,
  onRead: (bytes: number) => void = () => {},
): AsyncGenerator<TransferPage> {
  const source = Readable.from(chunksOf(file, onRead));
  const unpacked = createGunzip({ chunkSize: CHUNK_BYTES });
  source.once('error', (error) => unpacked.destroy(error));
  const digest = new Digest();
  let header: Header | undefined;
  let trailer: Json | undefined;
  let events: FileEvent[] = [];
  let bytes = 0;
  let number = 0;
  let last = -1n;
  /** Reported after the digest: the digest tells whether the file was changed after the export. */
  let disordered: { readonly number: number; readonly issue: string } | undefined;
  try {
    for await (const line of linesOf(source.pipe(unpacked), MAX_LINE_BYTES)) {
      number += 1;
      if (line === undefined) throw new DamagedFile(`longer than ${MAX_LINE_BYTES} bytes`);
      if (trailer !== undefined) throw new DamagedFile('the file continues after its end');
      const json = parse(line.toString());
      if ('sha256' in json) {
        trailer = json;
        continue;
      }
      digest.line(line);
      if (header === undefined) {
        header = headerOf(json);
        continue;
      }
      const event = eventOf(json, header.organization);
      if (event.position <= last || event.position > header.position)
        disordered ??= {
          number,
          issue:
            `the event ${event.id} at position ${event.position} comes after position ${last}: the lines are not in the ` +
            'order of the log',
        };
      last = event.position;
      digest.event(event);
      events.push(event);
      bytes += line.length;
      if (events.length < PAGE && bytes < MAX_PAGE_BYTES) continue;
      yield { header, events };
      [events, bytes] = [[], 0];
    }
    number += 1;
    if (header === undefined || trailer === undefined) throw new DamagedFile('the file ends before its last line');
    const expected = digest.end();
    if (trailer['sha256'] !== expected.sha256) throw new DamagedFile('the digest does not match: the file was changed');
    if (JSON.stringify(trailer) !== JSON.stringify(expected))
      throw new DamagedFile('the counts of the last line do not match the events');
    if (disordered !== undefined) {
      ({ number } = disordered);
      throw new DamagedFile(disordered.issue);
    }
    yield { header, events };
  } catch (error) {
    if (error instanceof DamagedFile) throw new DamagedFile(`Line ${number}: ${error.message}`, { cause: error });
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith('Z_') !== true) throw error;
    throw new DamagedFile(`The file cannot be decompressed: ${message}`, { cause: error });
  } finally {
    source.destroy();
    unpacked.destroy();
  }
}

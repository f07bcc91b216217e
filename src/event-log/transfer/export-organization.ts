import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { NotFound } from '../../errors.js';
import { BEGINNING, type EventLog, type RecordedEvent } from '../event-log.js';
import { pages, progressOf } from '../copy-log.js';
import { readWithRetries } from '../read-streams.js';
import { OrganizationPart, type Trailer, writeTransfer } from './transfer-file.js';

/**
 * Writes a compressed file that only its owner can read. The file is complete and on disk as soon as it exists under its
 * name; an earlier file of this name is replaced.
 * @throws the error of `text` or of the file system; no partial file is left then
 */
export const writeAtomically = async (
  path: string,
  text: AsyncIterable<string>,
  signal: AbortSignal,
): Promise<void> => {
  const partial = `${path}.${randomBytes(6).toString('hex')}.partial`;
  try {
    const file = createWriteStream(partial, { flags: 'wx', mode: 0o600, flush: true });
    await pipeline(text, createGzip(), file, { signal });
    await rename(partial, path);
  } catch (error) {
    await rm(partial, { force: true });
    throw error;
  }
  const folder = await open(dirname(path));
  await folder.sync().finally(() => folder.close());
};

const PAGE = 3_000;

/** Called with the number of exported events and the progress from 0 to 1. */
type OnProgress = (events: number, fraction: number) => void;

/**
 * Leaves out repetitions of events, which an EventStoreDB may contain, and numbers the other events of each stream from
 * 0. Keeps about 200 bytes per event in memory.
 * @param copies the position of the last copy of each event that has copies, which replaces the event
 */
const distinct = (copies: ReadonlyMap<string, bigint>): ((event: RecordedEvent) => RecordedEvent | undefined) => {
  const ids = new Set<string>();
  const revisions = new Map<string, bigint>();
  return (event) => {
    if (ids.has(event.id) || event.position < (copies.get(event.id) ?? BEGINNING)) return undefined;
    ids.add(event.id);
    const revision = revisions.get(event.stream) ?? 0n;
    revisions.set(event.stream, revision + 1n);
    return { ...event, revision };
  };
};

async function* eventsUpTo(log: EventLog, head: bigint): AsyncGenerator<readonly RecordedEvent[]> {
  for await (const page of pages(log, BEGINNING, PAGE)) {
    yield page.filter(({ position }) => position <= head);
    if (page.at(-1)!.position >= head) return;
  }
}

async function* partsOf(
  log: EventLog,
  organization: string,
  head: bigint,
  onProgress: OnProgress,
): AsyncGenerator<readonly RecordedEvent[]> {
  const part = new OrganizationPart(organization);
  const copies = new Map<string, bigint>();
  const numbered = log.positionUnit === 'events' ? (event: RecordedEvent) => event : distinct(copies);
  for await (const page of eventsUpTo(log, head)) {
    for (const event of page) {
      part.note(event);
      if (event.copyOf !== undefined) copies.set(event.id, event.position);
    }
    onProgress(0, progressOf(page.at(-1)?.position ?? head, head) / 2);
  }
  let count = 0;
  for await (const page of eventsUpTo(log, head)) {
    const parts = page.flatMap((event) => {
      const own = part.of(event);
      return (own && numbered(own)) ?? [];
    });
    count += parts.length;
    if (parts.length > 0) yield parts;
    onProgress(count, 0.5 + progressOf(page.at(-1)?.position ?? head, head) / 2);
  }
  if (count === 0) throw new NotFound(`The log has no event of ${organization}`);
}

/**
 * Yields the text of a file with everything that the log has of an organization at the time of the call, except API
 * keys. Reads the log twice.
 * @throws NotFound if the log has no event of the organization
 * @throws Unavailable if the log is unavailable for longer than 60 s
 */
export async function* exportOrganization(
  log: EventLog,
  organization: string,
  onProgress: OnProgress,
  onEnd: (trailer: Trailer) => void,
): AsyncGenerator<string> {
  const position = await readWithRetries(() => log.head());
  const header = { logId: await readWithRetries(() => log.id()), organization, position };
  yield* writeTransfer(header, partsOf(log, organization, position, onProgress), onEnd);
}

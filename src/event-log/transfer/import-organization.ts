import type { FileHandle } from 'node:fs/promises';
import { Conflict, Unavailable } from '../../errors.js';
import { organizationOf } from '../../events/streams.js';
import { type NewEvent, type RecordedEvent, BEGINNING, type EventLog, WrongExpectedRevision } from '../event-log.js';
import { type FileEvent, isVerdict, DamagedFile, type Header, readTransfer } from './transfer-file.js';
import { type InForce, mergeVerdicts, noteInForce } from './merge-verdicts.js';
import { allEnded } from '../../flow/shared-work.js';
import { pause } from '../../flow/time.js';
import { ErasedOrganizations } from '../erased-organizations.js';
import { pages } from '../copy-log.js';
import { readWithRetries } from '../read-streams.js';

/** What the whole file says about the events of its pages. */
interface InFile {
  readonly inForce: InForce;
  /** The ids of the `ContentRedacted` of the file. */
  readonly redactions: Set<string>;
}

const PAGE = 3_000;
const STREAM_PAGE = 1_000;
/** The number of streams that are read at the same time. */
const READERS = 16;
const MAX_ATTEMPTS = 30;
const RETRY_PAUSE_MS = 1_000;

export interface Imported extends Header {
  /** The number of events in the file. */
  readonly events: number;
  /** How many of the events the log had already. */
  readonly present: number;
}

interface ImportOptions {
  /** Verifies and compares only; nothing is stored. */
  readonly dryRun: boolean;
  /** Called with the number of events that the running pass has read, and the progress of all passes from 0 to 1. */
  readonly onProgress?: (events: number, fraction: number) => void;
}

/** An append of one event of the file. */
interface Append {
  readonly stream: string;
  readonly expected: bigint | 'no-stream';
  readonly event: NewEvent;
  /** The place of the event in the page. */
  readonly index: number;
}

type Numbered = FileEvent & { readonly index: number };

const revisionBefore = (revision: bigint): bigint | 'no-stream' => (revision === 0n ? 'no-stream' : revision - 1n);

/** The revision of the next event of a stream. @param stored the events of the stream before it */
const revisionAfter = (stored: readonly RecordedEvent[]): bigint => (stored.at(-1)?.revision ?? -1n) + 1n;

const readWhole = async (log: EventLog, stream: string): Promise<RecordedEvent[]> => {
  const events: RecordedEvent[] = [];
  for (;;) {
    const page = await log.readStream(stream, revisionAfter(events), STREAM_PAGE);
    events.push(...page);
    if (page.length < STREAM_PAGE) return events;
  }
};

const byStream = (page: readonly FileEvent[]): ReadonlyMap<string, readonly Numbered[]> => {
  const streams = new Map<string, Numbered[]>();
  for (const [index, event] of page.entries()) {
    const events = streams.get(event.stream);
    if (events === undefined) streams.set(event.stream, [{ ...event, index }]);
    else events.push({ ...event, index });
  }
  return streams;
};

/**
 * Notes the events of a page. A file that lacks or repeats an event of a stream could never be stored as a whole.
 * @param next the next revision of each stream of the organization: about 150 bytes each
 * @throws DamagedFile
 */
const noteRevisions = (page: readonly FileEvent[], next: Map<string, bigint>): void => {
  for (const event of page) {
    if (isVerdict(event)) continue;
    const { stream, revision } = event;
    const expected = next.get(stream) ?? 0n;
    if (revision !== expected)
      throw new DamagedFile(
        `The file does not have all events of stream ${stream}: revision ${revision} comes where ${expected} should`,
      );
    next.set(stream, expected + 1n);
  }
};

/** @param next the revision of the first of these events in the log */
const appendsOf = (stream: string, events: readonly Numbered[], next: bigint): Append[] =>
  events.map(({ index, id, type, data, metadata }, count) => {
    const event = { id, type, data, metadata };
    return { stream, expected: revisionBefore(next + BigInt(count)), event, index };
  });

/**
 * Returns the events that a stream of the organization lacks. The stream must be a part of the stream in the file, or
 * continue it. A redaction in this installation, also one between two calls of the import, does not change that: its
 * `ContentRedacted` may stand anywhere in the stream, and the next state of the file is stored behind it.
 */
const missingOf = async (
  log: EventLog,
  stream: string,
  events: readonly Numbered[],
  { redactions }: InFile,
): Promise<Append[]> => {
  const first = events[0]!.revision;
  const page = await log.readStream(stream, first, events.length);
  if (page.every(({ id }, index) => id === events[index]!.id))
    return appendsOf(stream, events.slice(page.length), page.length === 0 ? first : revisionAfter(page));
  const stored = await readWhole(log, stream);
  // A redaction in EventStoreDB that was killed leaves copies behind the originals.
  const fromFile = new Map(
    stored.filter(({ id, type }) => type !== 'ContentRedacted' || redactions.has(id)).map((event) => [event.id, event]),
  );
  const present = [...fromFile.values()].slice(Number(first), Number(first) + events.length);
  const other = present.find(({ id }, index) => id !== events[index]!.id);
  if (other !== undefined)
    throw new Conflict(
      `Stream ${stream} holds other events than the file: its event ${other.revision} has the id ${other.id}. ` +
        'The organization was changed here, or it was exported from another installation',
    );
  return appendsOf(stream, events.slice(present.length), revisionAfter(stored));
};

/** Whether a log of at most so many events has no verdict and no event in a stream of the organization. */
const isNewTo = async (log: EventLog, organization: string, maxEvents: number): Promise<boolean> => {
  let count = 0;
  for await (const page of pages(log, BEGINNING, PAGE)) {
    count += page.length;
    const isKnown = page.some((event) => organizationOf(event.stream) === organization || isVerdict(event));
    if (isKnown || count > maxEvents) return false;
  }
  return true;
};

/** Returns the events that the status history of an asset lacks. It may have verdicts about other organizations. */
const missingVerdictsOf = async (
  log: EventLog,
  stream: string,
  events: readonly Numbered[],
  { inForce }: InFile,
): Promise<Append[]> => {
  const stored = await readWhole(log, stream);
  return appendsOf(stream, mergeVerdicts(stored, events, inForce), revisionAfter(stored));
};

/**
 * Returns the appends for the events of a page that the log lacks, in the order of the file.
 * @param isNew whether the log had no event of the organization's streams, which are not read then
 */
const missingOfPage = async (
  log: EventLog,
  page: readonly FileEvent[],
  inFile: InFile,
  isNew = false,
): Promise<Append[]> => {
  const streams = byStream(page);
  const missing: Append[] = [];
  const waiting = streams.entries();
  const readNext = async (): Promise<void> => {
    for (const [stream, events] of waiting)
      if (isVerdict(events[0]!)) missing.push(...(await missingVerdictsOf(log, stream, events, inFile)));
      else
        missing.push(
          ...(isNew ? appendsOf(stream, events, events[0]!.revision) : await missingOf(log, stream, events, inFile)),
        );
  };
  await allEnded(Array.from({ length: READERS }, readNext));
  return missing.sort((a, b) => a.index - b.index);
};

/** Appends what the log lacks of a page. An interrupted or repeated call appends only the rest. */
const storePage = async (
  log: EventLog,
  page: readonly FileEvent[],
  inFile: InFile,
  isNew: boolean,
  requireNotErased: () => Promise<void>,
): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await requireNotErased();
      const appends = await missingOfPage(log, page, inFile, isNew && attempt === 1);
      const send = ({ stream, expected, event }: Append): Promise<unknown> => log.append(stream, expected, [event]);
      // An EventStoreDB may store concurrent appends in another order, which the next attempt corrects.
      if (attempt === 1) await allEnded(appends.map(send));
      else for (const append of appends) await send(append);
      return;
    } catch (error) {
      if (attempt === MAX_ATTEMPTS && error instanceof WrongExpectedRevision)
        throw new Conflict(`Stream ${error.stream} changes while it is imported. Repeat the call to continue`);
      if (attempt === MAX_ATTEMPTS || !(error instanceof Unavailable || error instanceof WrongExpectedRevision))
        throw error;
      if (error instanceof Unavailable) await pause(RETRY_PAUSE_MS);
    }
  }
};

/**
 * Stores the events of a file. Reads the file up to three times, so that nothing is stored if the file is damaged or
 * the log has other events: to verify the file, to compare it with the log unless the log has nothing of the
 * organization, and to store what the log lacks.
 * @throws DamagedFile
 * @throws Conflict if the organization was erased, or one of its streams holds other events
 * @throws Unavailable if the log is unavailable for long; a repeated call continues
 */
export const importOrganization = async (
  log: EventLog,
  file: FileHandle,
  { dryRun, onProgress = () => {} }: ImportOptions,
): Promise<Imported> => {
  const { size } = await file.stat();
  const passes = dryRun ? 2 : 3;
  const read = async (pass: number, work: (events: readonly FileEvent[], header: Header) => Promise<void>) => {
    let bytes = 0;
    let count = 0;
    for await (const { header, events } of readTransfer(file, (soFar) => (bytes = soFar))) {
      await work(events, header);
      count += events.length;
      onProgress(count, (pass + bytes / size) / passes);
    }
    return count;
  };
  let header!: Header;
  const revisions = new Map<string, bigint>();
  const inFile: InFile = { inForce: new Map(), redactions: new Set() };
  const events = await read(0, async (page, read) => {
    noteRevisions(page, revisions);
    noteInForce(page, inFile.inForce);
    for (const { type, id } of page) if (type === 'ContentRedacted') inFile.redactions.add(id);
    header = read;
  });
  revisions.clear();
  const { organization } = header;
  const erased = new ErasedOrganizations();
  const requireNotErased = async (): Promise<void> => {
    await erased.read(log);
    if (erased.has(organization))
      throw new Conflict(`${organization} was erased from this installation, and an erasure is final`);
  };
  await readWithRetries(requireNotErased);
  const isNew = await isNewTo(log, organization, events);
  let missing = isNew ? events : 0;
  if (!isNew)
    await read(1, async (page) => {
      missing += (await readWithRetries(() => missingOfPage(log, page, inFile))).length;
    });
  if (!dryRun && missing > 0) await read(2, (page) => storePage(log, page, inFile, isNew, requireNotErased));
  return { ...header, events, present: events - missing };
};

import { createHash } from 'node:crypto';
import { Conflict, Invalid, Unavailable } from '../errors.js';
import { BEGINNING, type EventLog, type RecordedEvent, WrongExpectedRevision } from './event-log.js';
import { readWithRetries, followStream, START_OF_STREAM } from './read-streams.js';
import { pause } from '../flow/time.js';
import { OPERATIONS_STREAM } from '../events/streams.js';

/** Maximum number of events in flight, and the number of events that are sent again when a copy is resumed. */
const PAGE = 1_000;
const MAX_ATTEMPTS = 30;
const RETRY_PAUSE_MS = 1_000;

export interface Copied {
  /** Number of events in the source, except `LogOpened`, because the target has a `LogOpened` of its own. */
  readonly events: number;
  /**
   * Number of events that this call wrote. If the target is an EventStoreDB, also events that an interrupted call had
   * written and that this call sent again.
   */
  readonly copied: number;
}

export interface CopyProgress {
  readonly phase: 'copying' | 'verifying';
  readonly events: number;
  /** The progress of the phase, from 0 to 1. */
  readonly fraction: number;
}

/**
 * Whether the event is `LogOpened`, which is not copied: positions differ between the logs, so the copy is a log with
 * another id.
 */
const isOpening = ({ stream, revision }: RecordedEvent): boolean => stream === OPERATIONS_STREAM && revision === 0n;

const withSortedKeys = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(withSortedKeys);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, withSortedKeys(v)]),
  );
};

/**
 * Hashes everything of an event that must be equal in both logs. The fingerprints of a log are added up, so their order
 * does not matter.
 */
const fingerprint = ({ stream, revision, id, type, data, metadata }: RecordedEvent): bigint =>
  createHash('sha256')
    .update(JSON.stringify([stream, String(revision), id, type, withSortedKeys(data), withSortedKeys(metadata)]))
    .digest()
    .readBigUInt64LE();

/** Yields the events of a log after a position, in pages. Waits while the log is unavailable, for at most 60 s. */
export async function* pages(log: EventLog, after: bigint, size: number): AsyncGenerator<RecordedEvent[]> {
  for (let position = after; ;) {
    const page = await readWithRetries(() => log.readAll(position, size));
    if (page.length === 0) return;
    yield page;
    position = page.at(-1)!.position;
  }
}

/** Returns how much of a log is before a position, from 0 to 1. */
export const progressOf = (position: bigint, head: bigint): number =>
  head <= 0n ? 1 : Math.min(1, Number(position) / Number(head));

/** Finds the source position after which to continue, one page before the last event that the target has. */
const resumeAfter = async (source: EventLog, target: EventLog, size: number): Promise<bigint> => {
  if (source.positionUnit !== 'events') return BEGINNING;
  let [low, high] = [BEGINNING, await source.head()];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    const [event] = await source.readAll(middle - 1n, 1);
    const [stored] = event === undefined ? [] : await target.readStream(event.stream, event.revision, 1);
    if (event === undefined || isOpening(event) || stored?.id === event.id) low = middle;
    else high = middle - 1n;
  }
  return low - BigInt(size) > BEGINNING ? low - BigInt(size) : BEGINNING;
};

const appendTo = async (target: EventLog, event: RecordedEvent): Promise<boolean> => {
  const { stream, revision, id, type, data, metadata } = event;
  const expected = revision === 0n ? 'no-stream' : revision - 1n;
  const content = { id, type, data: data as object, metadata: metadata as object };
  return !(await target.append(stream, expected, [content])).duplicate;
};

/** @throws Conflict if an erasure has not finished, or if streams do not begin with their first events */
const requireWhole = async (log: EventLog): Promise<void> => {
  const started = new Set<unknown>();
  const logId = await log.id();
  let hasTruncated = false;
  await followStream(log, OPERATIONS_STREAM, 'Events about the log', START_OF_STREAM, ({ type, data }) => {
    if (type === 'StreamsRewritten') hasTruncated = true;
    const { digest, logId: erasedFrom } = (data ?? {}) as { digest?: unknown; logId?: unknown };
    if (type === 'OrganizationErasureStarted') started.add(digest);
    if (type !== 'OrganizationErased') return;
    started.delete(digest);
    if (log.positionUnit === 'bytes' && erasedFrom === logId) hasTruncated = true;
  });
  if (started.size > 0)
    throw new Conflict(
      'The erasure of an organization has not finished: run `organizations erase` again, then copy the log',
    );
  if (hasTruncated)
    throw new Conflict(
      'An organization was erased from this EventStoreDB, or contents were redacted, so its streams no longer begin ' +
        'with their first events, and they cannot be copied one to one. Export the organizations instead (organizations export)',
    );
};

/** Sends all events concurrently, in the source's order. */
const copyConcurrently = async (target: EventLog, page: readonly RecordedEvent[]): Promise<number> => {
  const outcomes = await Promise.allSettled(page.map((event) => appendTo(target, event)));
  const failure = outcomes.find((outcome) => outcome.status === 'rejected');
  if (failure !== undefined) throw failure.reason;
  return outcomes.filter((outcome) => outcome.status === 'fulfilled' && outcome.value).length;
};

const copyOneByOne = async (target: EventLog, page: readonly RecordedEvent[]): Promise<number> => {
  let copied = 0;
  for (const event of page) if (await appendTo(target, event)) copied++;
  return copied;
};

const copyPage = async (target: EventLog, page: readonly RecordedEvent[]): Promise<number> => {
  let copy = copyConcurrently;
  for (let attempt = 1; ; attempt++) {
    try {
      return await copy(target, page);
    } catch (error) {
      const isOneByOne = copy === copyOneByOne;
      copy = copyOneByOne;
      if (error instanceof WrongExpectedRevision) {
        if (!isOneByOne) continue;
        throw new Conflict(
          `Stream ${error.stream} of the target is at ${error.actual}, but the source's next event follows ${error.expected}: the target has events that did not come from this log. Copy into an empty event store.`,
        );
      }
      if (!(error instanceof Unavailable)) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new Unavailable('The target does not answer. Repeat the call to continue where this call stopped.', 1, {
          cause: error,
        });
      await pause(RETRY_PAUSE_MS);
    }
  }
};

const sumFingerprints = async (
  log: EventLog,
  onPage: (count: number, position: bigint) => void,
): Promise<{ count: number; fingerprints: bigint }> => {
  let count = 0;
  let fingerprints = 0n;
  for await (const page of pages(log, BEGINNING, PAGE)) {
    for (const event of page) {
      if (isOpening(event)) continue;
      count++;
      fingerprints = BigInt.asUintN(64, fingerprints + fingerprint(event));
    }
    onPage(count, page.at(-1)!.position);
  }
  return { count, fingerprints };
};

/**
 * Copies all events of a log to another log, in order, and then compares the two logs. If a copy is interrupted, a
 * repeated call continues it. Nothing should be appended to the source in the meantime.
 * @param size maximum events in flight
 * @throws Invalid if source and target are the same log
 * @throws Conflict if the target has other events, or the logs differ afterwards
 * @throws Conflict if an erasure has not finished, or if streams do not begin with their first events
 * @throws Unavailable if the target does not respond for 30 attempts
 */
export const copyLog = async (
  source: EventLog,
  target: EventLog,
  onProgress: (progress: CopyProgress) => void = () => {},
  size = PAGE,
): Promise<Copied> => {
  if ((await source.id()) === (await target.id())) throw new Invalid('Source and target are the same log');
  await requireWhole(source);
  const head = await source.head();
  let copied = 0;
  let events = 0;
  for await (const page of pages(source, await resumeAfter(source, target, size), size)) {
    const copyable = page.filter((event) => !isOpening(event));
    copied += await copyPage(target, copyable);
    events += copyable.length;
    onProgress({ phase: 'copying', events, fraction: progressOf(page.at(-1)!.position, head) });
  }
  const sourceSum = await sumFingerprints(source, (count, position) =>
    onProgress({ phase: 'verifying', events: count, fraction: progressOf(position, head) / 2 }),
  );
  const targetSum = await sumFingerprints(target, (count) =>
    onProgress({
      phase: 'verifying',
      events: count,
      fraction: 0.5 + Math.min(0.5, count / Math.max(1, sourceSum.count) / 2),
    }),
  );
  if (targetSum.count !== sourceSum.count)
    throw new Conflict(
      `The target has ${targetSum.count} events and the source ${sourceSum.count}; check whether another program wrote to one of the two logs in the meantime`,
    );
  if (targetSum.fingerprints !== sourceSum.fingerprints)
    throw new Conflict(
      `Source and target both have ${targetSum.count} events, but the events differ: another program wrote to the target`,
    );
  return { events: sourceSum.count, copied };
};

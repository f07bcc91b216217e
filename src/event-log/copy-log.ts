import { createHash } from 'node:crypto';
import { Conflict, Invalid, Unavailable } from '../errors.js';
import { BEGINNING, type EventLog, type RecordedEvent, WrongExpectedRevision } from './event-log.js';
import { pause } from '../retry.js';
import { OPERATIONS_STREAM } from '../events/streams.js';

/** So many events are under way at once, and so many are sent again where a copy is resumed. */
const PAGE = 1_000;
const MAX_ATTEMPTS = 30;
const ATTEMPT_PAUSE_MS = 1_000;

export interface Copied {
  /** Events of the source, its own `LogOpened` left out: the target has one of its own. */
  readonly events: number;
  /** Of these, written by this call. */
  readonly copied: number;
}

export interface CopyProgress {
  readonly phase: 'copying' | 'verifying';
  readonly events: number;
  /** How much of the whole that is, 0 to 1. */
  readonly part: number;
}

/** Checkpoints name the log they belong to, and positions differ between the two: so the copy is another log. */
const isOpening = ({ stream, revision }: RecordedEvent): boolean => stream === OPERATIONS_STREAM && revision === 0n;

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([k, v]) => [k, sorted(v)]),
  );
};

/** What of an event has to be the same in both logs, as a number that can be added up. */
const fingerprint = ({ stream, revision, id, type, data, metadata }: RecordedEvent): bigint =>
  createHash('sha256')
    .update(JSON.stringify([stream, String(revision), id, type, sorted(data), sorted(metadata)]))
    .digest()
    .readBigUInt64LE();

async function* pages(log: EventLog, after: bigint, size: number): AsyncGenerator<RecordedEvent[]> {
  for (let position = after; ;) {
    const page = await log.readAll(position, size);
    if (page.length > 0) yield page;
    if (page.length < size) return;
    position = page.at(-1)!.position;
  }
}

const partOf = (position: bigint, head: bigint): number =>
  head <= 0n ? 1 : Math.min(1, Number(position) / Number(head));

/** Where an earlier copy stopped: the source's positions up to here are in the target, but for the last page. */
const resumeAfter = async (source: EventLog, target: EventLog, size: number): Promise<bigint> => {
  if (source.positionUnit !== 'events') return BEGINNING;
  let [low, high] = [BEGINNING, await source.head()];
  while (low < high) {
    const middle = (low + high + 1n) / 2n;
    const [event] = await source.readAll(middle - 1n, 1);
    const [there] = event === undefined ? [] : await target.readStream(event.stream, event.revision, 1);
    if (event === undefined || isOpening(event) || there?.id === event.id) low = middle;
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

/** Sends all at once, in the source's order. One that has to wait for its answer keeps those behind it out. */
const copyTogether = async (target: EventLog, page: readonly RecordedEvent[]): Promise<number> => {
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
  let copy = copyTogether;
  for (let attempt = 1; ; attempt++) {
    try {
      return await copy(target, page);
    } catch (error) {
      const isInTurn = copy === copyOneByOne;
      copy = copyOneByOne;
      if (error instanceof WrongExpectedRevision) {
        if (!isInTurn) continue;
        throw new Conflict(
          `Stream ${error.stream} of the target is at ${error.actual}, where the source's event after ${error.expected} should go: the target holds events that did not come from this log. Copy into an empty one.`,
        );
      }
      if (!(error instanceof Unavailable)) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new Unavailable('The target does not answer. The same call again goes on where this one stopped.', 1, {
          cause: error,
        });
      await pause(ATTEMPT_PAUSE_MS);
    }
  }
};

interface Sum {
  readonly count: number;
  readonly fingerprints: bigint;
}

const sumUp = async (log: EventLog, onPage: (count: number, position: bigint) => void): Promise<Sum> => {
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
 * Copies a whole log into another, in order, and compares the two afterwards, event by event. May be stopped at any
 * time: the same call again goes on. Nothing should be appended to the source meanwhile.
 * @param size how many events are under way at once
 * @throws Invalid where both are one log
 * @throws Conflict where the target holds other events, or the two differ afterwards
 */
export const copyLog = async (
  source: EventLog,
  target: EventLog,
  onProgress: (progress: CopyProgress) => void = () => {},
  size = PAGE,
): Promise<Copied> => {
  if ((await source.id()) === (await target.id())) throw new Invalid('The target is the log itself');
  const head = await source.head();
  let copied = 0;
  let events = 0;
  for await (const page of pages(source, await resumeAfter(source, target, size), size)) {
    const wanted = page.filter((event) => !isOpening(event));
    copied += await copyPage(target, wanted);
    events += wanted.length;
    onProgress({ phase: 'copying', events, part: partOf(page.at(-1)!.position, head) });
  }
  const theirs = await sumUp(source, (count, position) =>
    onProgress({ phase: 'verifying', events: count, part: partOf(position, head) / 2 }),
  );
  const ours = await sumUp(target, (count) =>
    onProgress({ phase: 'verifying', events: count, part: 0.5 + Math.min(0.5, count / Math.max(1, theirs.count) / 2) }),
  );
  if (ours.count !== theirs.count)
    throw new Conflict(
      `The target holds ${ours.count} events and the source ${theirs.count}; was one written to meanwhile?`,
    );
  if (ours.fingerprints !== theirs.fingerprints)
    throw new Conflict(`Both hold ${ours.count} events, but not the same ones: the target was written to by others`);
  return { events: theirs.count, copied };
};

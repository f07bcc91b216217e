import { createHash } from 'node:crypto';
import { Conflict, Invalid, Unavailable } from '../errors.js';
import { BEGINNING, type EventLog, type RecordedEvent, WrongExpectedRevision } from './event-log.js';
import { readPatiently } from './read-patiently.js';
import { pause } from '../flow/retry.js';
import { OPERATIONS_STREAM } from '../events/streams.js';

/** Events in flight, and events sent again when a copy is resumed. */
const PAGE = 1_000;
const MAX_ATTEMPTS = 30;
const ATTEMPT_PAUSE_MS = 1_000;

export interface Copied {
  /** Events of the source without its `LogOpened`: the target has its own. */
  readonly events: number;
  /** Of these, written by this call. */
  readonly copied: number;
}

export interface CopyProgress {
  readonly phase: 'copying' | 'verifying';
  readonly events: number;
  /** Progress from 0 to 1. */
  readonly part: number;
}

/** Checkpoints name their log, and positions differ between the two, so the copy is a different log. */
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

/** What must be equal in both logs, as a number that can be summed up. */
const fingerprint = ({ stream, revision, id, type, data, metadata }: RecordedEvent): bigint =>
  createHash('sha256')
    .update(JSON.stringify([stream, String(revision), id, type, sorted(data), sorted(metadata)]))
    .digest()
    .readBigUInt64LE();

async function* pages(log: EventLog, after: bigint, size: number): AsyncGenerator<RecordedEvent[]> {
  for (let position = after; ;) {
    const page = await readPatiently(() => log.readAll(position, size));
    if (page.length > 0) yield page;
    if (page.length < size) return;
    position = page.at(-1)!.position;
  }
}

const partOf = (position: bigint, head: bigint): number =>
  head <= 0n ? 1 : Math.min(1, Number(position) / Number(head));

/** The source position up to which, except for the last page, an earlier copy reached. */
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

/** Sends all events at once, in the source's order. If one has to wait, those behind it wait too. */
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
          `Stream ${error.stream} of the target is at ${error.actual}, but the source's next event follows ${error.expected}: the target has events that did not come from this log. Copy into an empty one.`,
        );
      }
      if (!(error instanceof Unavailable)) throw error;
      if (attempt === MAX_ATTEMPTS)
        throw new Unavailable('The target does not answer. Repeat the call to continue where this one stopped.', 1, {
          cause: error,
        });
      await pause(ATTEMPT_PAUSE_MS);
    }
  }
};

const sumUp = async (
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
 * Copies a whole log into another, in order, then compares the two event by event. May be interrupted at any time and
 * repeated to continue. Nothing should be appended to the source in the meantime.
 * @param size events in flight
 * @throws Invalid if both are the same log
 * @throws Conflict if the target has other events, or the two differ afterwards
 */
export const copyLog = async (
  source: EventLog,
  target: EventLog,
  onProgress: (progress: CopyProgress) => void = () => {},
  size = PAGE,
): Promise<Copied> => {
  if ((await source.id()) === (await target.id())) throw new Invalid('Source and target are the same log');
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
      `The target has ${ours.count} events and the source ${theirs.count}; was one of them written to in the meantime?`,
    );
  if (ours.fingerprints !== theirs.fingerprints)
    throw new Conflict(`Both have ${ours.count} events, but they differ: something else wrote to the target`);
  return { events: theirs.count, copied };
};

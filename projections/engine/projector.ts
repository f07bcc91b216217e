import type { Pool } from 'pg';
import type { Batch, EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { cloudEventAttributes, logAttributes } from '../../src/event-log/open-event-log.js';
import { type Span, type Tracing, isSampled, traceparentOf, inSpan, tracing } from '../../src/runtime/tracing.js';
import { type Projection, type ProjectorTransaction, STATEMENT_TIMEOUT_MS, transact } from './projection.js';
import { EventsLost } from '../../src/event-log/read-streams.js';
import { failureText, isTransient } from '../../src/postgres/transient-errors.js';
import { Backoff, pause } from '../../src/flow/time.js';
import { boundTimes } from './bounded-times.js';
import { CheckpointMoved, moveCheckpoints, readCheckpoints } from './checkpoints.js';
import { dispatchBatch, type ProjectionBatch } from './dispatch-batch.js';
import { readRetried } from './parked.js';
import { readDecisions } from './decisions.js';
import { applyByBisection, applyOrPark, isEventError, type FailedEvent } from './parking.js';
import { ApplyError, PoisonEventIsolation } from './poison-events.js';

/** Maximum number of links of a span, which is the default limit of OpenTelemetry. */
const MAX_LINKS = 128;

/** The distinct sampled traces that appended these events. */
const tracesOf = (events: readonly RecordedEvent[]): string[] => {
  const traces = new Set<string>();
  for (const { metadata } of events) {
    const traceparent = traceparentOf((metadata as { traceparent?: unknown } | null)?.traceparent);
    if (traceparent !== undefined && isSampled(traceparent)) traces.add(traceparent);
    if (traces.size === MAX_LINKS) break;
  }
  return [...traces];
};

/**
 * Starts a span for a batch. The span is a child of the first sampled trace that appended events of the batch, and has
 * links to all such traces.
 * @returns undefined if tracing is disabled or the batch is empty
 */
const batchSpan = (
  tracer: Tracing | undefined,
  log: EventLog,
  projections: readonly Projection[],
  { events }: Pick<Batch, 'events'>,
): Span | undefined => {
  if (tracer === undefined || events.length === 0) return undefined;
  const links = tracesOf(events);
  return tracer.begin({
    name: 'process log',
    kind: 'consumer',
    attributes: () => ({
      ...logAttributes(log, events.length),
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.consumer.group.name': projections.map(({ name }) => name).join(','),
      ...cloudEventAttributes(events),
    }),
    parent: links[0],
    links,
  });
};

/** Writes items, such as batches, in order, one at a time, while the caller prepares the next item. */
export class PipelinedWriter<Item> {
  private writing: Promise<void> = Promise.resolve();

  constructor(
    /** Calls `onStarted` when the first statement has completed and the next item can be prepared. */
    private readonly write: (item: Item, onStarted: () => void) => Promise<void>,
    /** Aborts on shutdown, or when this process has lost its lease. */
    private readonly signal: AbortSignal,
  ) {}

  /**
   * Waits for the previous item, and resolves when writing `item` has started. If the signal has aborted, `item` is
   * not written, and its checkpoint does not move.
   * @throws the error of the previous item, also on every later call
   */
  async push(item: Item): Promise<void> {
    await this.writing;
    if (this.signal.aborted) return;
    const started = new Promise<void>((resolve) => (this.writing = this.write(item, resolve)));
    await Promise.race([started, this.writing]);
  }

  /**
   * Waits for the item in flight.
   * @throws the error of that item
   */
  finish(): Promise<void> {
    return this.writing;
  }
}

const MIN_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 5_000;
/**
 * The statement timeout while a poison event is being isolated. The timeout is shorter than usual, because all other
 * events wait.
 */
export const ISOLATION_STATEMENT_TIMEOUT_MS = 5_000;
/**
 * How long a transaction may wait for its next statement, which is as long as a lease is valid. A stalled projector
 * holds the locks of the checkpoints, for which the projector that takes over the lane has to wait.
 */
const IDLE_TIMEOUT_MS = 3_000;

export interface ProjectorOptions {
  /** Called when the read models cannot advance, and for each parked event. */
  readonly onError: (sentence: string, error: unknown) => void;
  /** Called when the read models advance again. */
  readonly onRecovery?: (sentence: string) => void;
  /**
   * Called for each batch, each piece of a batch, each page that a retry reads, each transaction and each error, as a sign
   * that the loop is alive.
   */
  readonly onHeartbeat?: () => void;
  readonly backoff?: Backoff;
}

/**
 * Follows the log and maintains the read models. Each batch is one transaction with the rows and the checkpoints of all
 * projections, so that rows and checkpoints are consistent after a crash. A batch with too many facts for one
 * transaction is split.
 */
export class Projector {
  private readonly isolation = new PoisonEventIsolation();
  private readonly onError: ProjectorOptions['onError'];
  private readonly onRecovery: (sentence: string) => void;
  private readonly onHeartbeat: () => void;
  private readonly backoff: Backoff;
  private isFailing = false;

  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly projections: readonly Projection[],
    { onError, onRecovery = () => {}, onHeartbeat = () => {}, backoff }: ProjectorOptions,
  ) {
    this.onError = onError;
    this.onRecovery = onRecovery;
    this.onHeartbeat = onHeartbeat;
    this.backoff = backoff ?? new Backoff(MIN_BACKOFF_MS, MAX_BACKOFF_MS);
  }

  /**
   * Runs until `signal` aborts, and then completes the batch in flight.
   * @throws ForeignCheckpoint, and errors that neither a retry nor parking can fix
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        let checkpoints = await readCheckpoints(this.pool, this.log, this.projections);
        let decisions = await readDecisions(this.pool, this.log);
        const lowest = checkpoints.reduce(
          (least, { position }) => (position < least ? position : least),
          checkpoints[0]!.position,
        );
        const writer = new PipelinedWriter<{ parts: ProjectionBatch[]; piece: Batch }>(
          ({ parts, piece }, onStarted) => {
            // The span starts when the write starts, because a prepared batch may never be written.
            const span = batchSpan(tracing, this.log, this.projections, piece);
            return inSpan(tracing, span, () => this.apply(parts, piece, onStarted));
          },
          signal,
        );
        const onBatch = async (batch: Batch): Promise<void> => {
          this.onHeartbeat();
          // The copy of an event that was parked meanwhile must not apply it, and only the last retry of an event counts.
          if (batch.events.some(({ type, copyOf }) => type === 'ParkedEventRetried' || copyOf !== undefined))
            decisions = await readDecisions(this.pool, this.log);
          for (const { events, position, isLast } of this.isolation.split(batch)) {
            this.onHeartbeat();
            const { timeOf, now } = await boundTimes(this.pool, events);
            // The read models are current as of the batch only after its last piece.
            const asOf = isLast && batch.asOf !== undefined ? Math.min(batch.asOf, now) : undefined;
            const piece = { events, position, asOf };
            const parts = await dispatchBatch(this.projections, checkpoints, { ...piece, timeOf }, decisions, (retry) =>
              readRetried(this.log, retry, this.onHeartbeat),
            );
            checkpoints = parts.map(({ move: { checkpoint, to } }) => ({ ...checkpoint, position: to }));
            await writer.push({ parts, piece });
            if (signal.aborted) return;
          }
        };
        try {
          await this.log.subscribe(lowest, onBatch, signal);
        } finally {
          await writer.finish();
        }
      } catch (error) {
        if (error instanceof CheckpointMoved) continue;
        if (!(error instanceof EventsLost || isTransient(error instanceof ApplyError ? error.cause : error)))
          throw error;
        this.isFailing = true;
        this.onHeartbeat();
        this.onError(`The read models cannot advance, retrying: ${failureText(error)}`, error);
        await pause(this.backoff.next(), signal);
      }
    }
  }

  private async apply(parts: readonly ProjectionBatch[], piece: Batch, onStarted: () => void): Promise<void> {
    try {
      await this.write(parts, piece, applyAll, onStarted).catch((error: unknown) => {
        if (!(error instanceof ApplyError) || !isEventError(error.cause)) throw error;
        // An event of the batch is invalid: it is parked, and the other events are applied.
        return this.write(parts, piece, (transaction, part) => applyByBisection(transaction, part));
      });
      this.isolation.succeeded(piece);
      this.backoff.reset();
      if (this.isFailing) this.onRecovery('The read models advance again');
      this.isFailing = false;
    } catch (error) {
      if (error instanceof ApplyError) this.isolation.failed(piece, error);
      throw error;
    }
  }

  /**
   * Called once the transaction has a server. A failover of the log may have lost events that were read before, while the
   * write waited for a connection. The checkpoint before them may be the same on the new server, and does not reveal it.
   * @throws EventsLost if the log no longer has the last event to write, and so perhaps none of them
   */
  private async requireInLog(last: RecordedEvent | undefined): Promise<void> {
    if (last === undefined) return;
    const { position, id, recordedAt } = last;
    if (!(await this.log.has({ position, event: id, recordedAt })))
      throw new EventsLost(
        `The event ${id} at position ${position}, which was read, is no longer in the log; reading again`,
      );
  }

  private async write(
    parts: readonly ProjectionBatch[],
    { events: all, asOf }: Batch,
    apply: (transaction: ProjectorTransaction, part: ProjectionBatch) => Promise<FailedEvent[]>,
    onStarted: () => void = () => {},
  ): Promise<void> {
    const { isolation } = this;
    const isIsolating = all.length > 1 && isolation.isActiveAt(all[0]!.position);
    const work = async (transaction: ProjectorTransaction): Promise<FailedEvent[]> => {
      await moveCheckpoints(
        transaction.connection,
        parts.map(({ move }) => move),
        asOf,
      );
      onStarted();
      this.onHeartbeat();
      await this.requireInLog(all.at(-1));
      const parked: FailedEvent[] = [];
      for (const part of parts)
        parked.push(...(await applyOrPark(transaction, part, isolation, () => apply(transaction, part))));
      return parked;
    };
    const statementMs = isIsolating ? ISOLATION_STATEMENT_TIMEOUT_MS : STATEMENT_TIMEOUT_MS;
    const parked = await transact(this.pool, 'read', work, { statementMs, idleMs: IDLE_TIMEOUT_MS });
    for (const { id, type, stream, reason } of parked)
      this.onError(`Parked event ${id} (${type} in ${stream}): ${reason}`, undefined);
  }
}

const applyAll = async (transaction: ProjectorTransaction, { prepared }: ProjectionBatch): Promise<FailedEvent[]> => {
  const write = await prepared;
  await write(transaction);
  return [];
};

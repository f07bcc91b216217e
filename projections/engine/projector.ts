import type { Pool } from 'pg';
import type { Batch, EventLog, RecordedEvent } from '../../src/event-log/event-log.js';
import { isTransient } from '../../src/postgres/transient-errors.js';
import { Backoff, pause } from '../../src/flow/retry.js';
import { type Checkpoint, CheckpointMoved, type Move, moveCheckpoints, readCheckpoints } from './checkpoints.js';
import { applyByHalves, applyShare, blamesData, type Refused, type Share } from './parking.js';
import { PipelinedWriter } from './pipelined-writer.js';
import type { ProjectedEvent, Projection, Write } from './projection.js';
import { type DecodedEvent, decodeEvent } from './decode-event.js';
import { NotApplied, Suspicion } from './suspicion.js';
import { chunksYielding } from '../../src/flow/yielder.js';
import { type ProjectorTransaction, STATEMENT_LIMIT_MS, transact } from './transaction.js';
import { inSpan, tracing } from '../../src/tracing/tracing.js';
import { batchSpan } from './batch-span.js';

/** A batch as seen by one projection. */
interface ProjectionBatch extends Share {
  readonly move: Move;
  /** Its error is thrown on use, where events can be parked. */
  readonly prepared: Promise<Write>;
}

const FIRST_BACK_OFF_MS = 50;
const MAX_BACK_OFF_MS = 5_000;
/** The statement timeout once events have failed twice: everything else waits while the bad one is isolated. */
export const SUSPECT_LIMIT_MS = 5_000;
/**
 * How long a transaction may wait for its next statement, as long as a lease lasts: one that stands still holds the
 * checkpoints, and whoever takes over its lane would wait for them. ms
 */
const IDLE_LIMIT_MS = 3_000;

/**
 * Follows the log and maintains the read models. One transaction per batch contains every projection's rows and
 * checkpoint, so that a crash at any point leaves both before or both after the batch. A batch with more facts than a
 * transaction may write is split.
 */
export class Projector {
  private readonly suspicion = new Suspicion();
  private isWaiting = false;

  constructor(
    private readonly log: EventLog,
    private readonly pool: Pool,
    private readonly projections: readonly Projection[],
    /** Called for everything that keeps the read models from advancing. */
    private readonly onTrouble: (sentence: string, error: unknown) => void,
    private readonly backoff = new Backoff(FIRST_BACK_OFF_MS, MAX_BACK_OFF_MS),
    /** Called when they advance again. */
    private readonly onRecovery: (sentence: string) => void = () => {},
    /** Called with each batch, each piece of it that is written, and each trouble. */
    private readonly onTurn: () => void = () => {},
  ) {}

  /**
   * Runs until `signal` aborts; the batch under way is finished first.
   * @throws ForeignCheckpoint, and errors that neither time nor parking can fix
   */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        let checkpoints = await readCheckpoints(this.pool, this.log, this.projections);
        const behind = checkpoints.reduce(
          (least, { position }) => (position < least ? position : least),
          checkpoints[0]!.position,
        );
        const writer = new PipelinedWriter<{ shares: ProjectionBatch[]; piece: Batch }>(
          ({ shares, piece }, onBegun) => {
            // Not before: a batch that was prepared for nothing would leave it open.
            const span = batchSpan(tracing, this.log, this.projections, piece);
            return inSpan(tracing, span, () => this.apply(shares, piece, onBegun));
          },
          signal,
        );
        const onBatch = async (batch: Batch): Promise<void> => {
          this.onTurn();
          for (const { events, position, isLast } of this.suspicion.cut(batch)) {
            // The whole batch is counted only after the last piece.
            const piece = { events, position, asOf: isLast ? batch.asOf : undefined };
            const shares = await dispatchBatch(this.projections, checkpoints, piece);
            checkpoints = shares.map(({ move: { checkpoint, to } }) => ({ ...checkpoint, position: to }));
            await writer.push({ shares, piece });
            if (signal.aborted) return;
          }
        };
        try {
          await this.log.subscribe(behind, onBatch, signal);
        } finally {
          await writer.finish();
        }
      } catch (error) {
        if (error instanceof CheckpointMoved) continue;
        if (!isTransient(error instanceof NotApplied ? error.cause : error)) throw error;
        this.isWaiting = true;
        this.onTurn();
        this.onTrouble(`The read models are waiting: ${error instanceof Error ? error.message : String(error)}`, error);
        await pause(this.backoff.next(), signal);
      }
    }
  }

  private async apply(shares: readonly ProjectionBatch[], piece: Batch, onBegun: () => void): Promise<void> {
    try {
      await this.write(shares, piece, applyAtOnce, onBegun).catch((error: unknown) => {
        if (!(error instanceof NotApplied) || !blamesData(error.cause)) throw error;
        // Again from the start, slowly: the good events of the batch must not wait for the bad one.
        return this.write(shares, piece, (transaction, { projection, events }) =>
          applyByHalves(transaction, projection, events),
        );
      });
      this.suspicion.passed(piece);
      this.backoff.reset();
      if (this.isWaiting) this.onRecovery('The read models advance again');
      this.isWaiting = false;
    } catch (error) {
      if (error instanceof NotApplied) this.suspicion.failed(piece, error);
      throw error;
    }
  }

  private async write(
    shares: readonly ProjectionBatch[],
    { events: all, asOf }: Batch,
    apply: (transaction: ProjectorTransaction, share: ProjectionBatch) => Promise<Refused[]>,
    onBegun: () => void = () => {},
  ): Promise<void> {
    const { suspicion } = this;
    const isSuspect = all.length > 1 && suspicion.isAt(all[0]!.position);
    const work = async (transaction: ProjectorTransaction): Promise<Refused[]> => {
      await moveCheckpoints(
        transaction.connection,
        shares.map(({ move }) => move),
        asOf,
      );
      onBegun();
      this.onTurn();
      const parked: Refused[] = [];
      for (const share of shares)
        parked.push(...(await applyShare(transaction, share, suspicion, () => apply(transaction, share))));
      return parked;
    };
    const statementMs = isSuspect ? SUSPECT_LIMIT_MS : STATEMENT_LIMIT_MS;
    const parked = await transact(this.pool, 'read', work, { statementMs, idleMs: IDLE_LIMIT_MS });
    for (const { id, type, stream, reason } of parked)
      this.onTrouble(`Parked event ${id} (${type} in ${stream}): ${reason}`, undefined);
  }
}

const applyAtOnce = async (transaction: ProjectorTransaction, { prepared }: ProjectionBatch): Promise<Refused[]> => {
  const write = await prepared;
  await write(transaction);
  return [];
};

/**
 * Decodes a batch once and dispatches its events: each projection gets those of its types after its checkpoint,
 * prepared for writing.
 */
export const dispatchBatch = async (
  projections: readonly Projection[],
  checkpoints: readonly Checkpoint[],
  batch: Pick<Batch, 'events' | 'position'>,
): Promise<ProjectionBatch[]> => {
  const positions = new Map(checkpoints.map((checkpoint) => [checkpoint.projection, checkpoint]));
  const read: { recorded: RecordedEvent; result: DecodedEvent }[] = [];
  for await (const few of chunksYielding(batch.events))
    for (const recorded of few) read.push({ recorded, result: decodeEvent(recorded) });
  const shares = projections.map((projection): ProjectionBatch => {
    const checkpoint = positions.get(projection.name)!;
    const types: ReadonlySet<string> = new Set(projection.types);
    const events: ProjectedEvent[] = [];
    const unreadable: Refused[] = [];
    const dropped: string[] = [];
    let unknown = 0;
    for (const { recorded, result } of read) {
      if (recorded.position <= checkpoint.position) continue;
      if (result.kind === 'unknown') unknown += 1;
      else if (result.kind === 'unreadable') {
        if (types.has(result.type)) unreadable.push({ ...recorded, reason: result.reason, unreadable: true });
      } else {
        const { event } = result.projected;
        if (types.has(event.type)) events.push(result.projected);
        if (event.type === 'ParkedEventDropped' && event.data.projection === projection.name)
          dropped.push(event.data.eventId);
      }
    }
    const to = batch.position > checkpoint.position ? batch.position : checkpoint.position;
    const newest = batch.events.at(-1);
    const last = newest && newest.position > checkpoint.position ? newest : undefined;
    const prepared = projection.prepare(events);
    return { projection, move: { checkpoint, to, last, unknown }, events, prepared, unreadable, dropped };
  });
  await Promise.allSettled(shares.map(({ prepared }) => prepared));
  return shares;
};

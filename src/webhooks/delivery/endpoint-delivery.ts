import { Conflict, NotFound } from '../../errors.js';
import type { WebhookCommands } from '../webhook-commands.js';
import {
  type Endpoint,
  withoutFailures,
  progressOf,
  readEndpoint,
  type Batch,
  kindsOf,
  type BatchLimits,
  readNext,
  isFresh,
} from './next-batch.js';
import { Backoff } from '../../flow/time.js';
import { isTransient } from '../../postgres/transient-errors.js';
import type { StoredProgress } from '../progress-sql.js';
import type { DeliveryContext } from './context.js';
import { outcomeOf, post } from './post.js';
import { type DeliveryAttempt, LeaseLost } from './progress.js';
import { Connection } from './send.js';
import { limit } from '../../limits.js';

/** Why the service itself disables an endpoint. */
type DisabledReason = 'gone' | 'failing';

/**
 * Disables an endpoint, unless its organization has changed the endpoint since it was read, or is being erased.
 * @throws Unavailable if the log or the database is unavailable
 */
const disableEndpoint = async (
  commands: WebhookCommands,
  { organization, webhookId, updatedAt }: Endpoint,
  reason: DisabledReason,
): Promise<void> => {
  try {
    await commands.execute({ type: 'Disable', organization, webhookId, reason, updatedAt }, { process: 'webhooks' });
  } catch (error) {
    if (!(error instanceof NotFound || error instanceof Conflict)) throw error;
  }
};

/** How long a delivery waits for a notification of new records before it reads the feed itself. */
const MAX_WAIT_MS = 25_000;
/** How often the cursor is saved while the filter skips records. */
const SAVE_INTERVAL_MS = 1_000;
/** Backoff after errors that the endpoint did not cause. */
const FIRST_BACKOFF_MS = 250;
const MAX_BACKOFF_MS = 5_000;
/** How long a delivery that cannot be signed or sent waits for the operator, in ms. */
const UNSENT_RETRY_MS = 60_000;
/** An endpoint is responsive if its last delivery succeeded within this time. */
const RESPONSIVE_WITHIN_MS = limit('delivery to a responsive endpoint', 1_000, 'ms', 'webhook', 'counts as slow');

/**
 * What the delivery does after a step: the delivery takes the next step immediately, ends, or waits at most until
 * `changed` aborts.
 */
type NextStep = 'next' | 'end' | ((changed: AbortSignal) => Promise<unknown>);

const untilChanged = (changed: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (changed.aborted) resolve(undefined);
    else changed.addEventListener('abort', resolve, { once: true });
  });

/**
 * Delivers to one endpoint: in order, one request at a time. `outcomeOf` in `post.ts` decides what follows a request: the
 * next records, a retry and its delay, or the end.
 */
export class EndpointDelivery {
  private changed = new AbortController();
  private readonly connection: Connection;
  private progress: StoredProgress | undefined;
  private limits: BatchLimits | undefined;
  /** The revision of the endpoint's row when the row was last read. */
  private revision: number | undefined;
  /**
   * The revision at which this process disabled the endpoint, and why. The row shows the change only once the change is
   * projected.
   */
  private disabled: { readonly revision: number; readonly reason: DisabledReason } | undefined;
  private savedAt = 0;
  /** Whether the last delivery succeeded quickly; undefined if this is not known yet. */
  private isResponsive: boolean | undefined;

  constructor(
    private readonly context: DeliveryContext,
    private readonly organization: string,
    private readonly id: string,
  ) {
    this.connection = new Connection(context.egress);
  }

  /** Must be called when the row of the endpoint has changed, and when `stop` has aborted. */
  wake(): void {
    const { changed } = this;
    this.changed = new AbortController();
    changed.abort();
  }

  /**
   * Delivers until the endpoint is deleted or `stop` aborts.
   * @throws LeaseLost
   */
  async run(): Promise<void> {
    const { slots, stop, clock, warn } = this.context;
    const backoff = new Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
    try {
      while (!stop.aborted) {
        const { signal } = this.changed;
        try {
          const isResponsive = (this.isResponsive ??= await this.wasResponsive());
          const after = await slots.run(this.organization, isResponsive, async () =>
            stop.aborted ? 'end' : this.step(),
          );
          if (after === 'end') return;
          if (after !== 'next') await after(signal);
          backoff.reset();
        } catch (error) {
          if (error instanceof LeaseLost) throw error;
          if (!isTransient(error))
            warn(`A delivery to webhook ${this.id} failed and will be retried: ${(error as Error).message}`);
          await clock.pause(backoff.next(), signal);
        }
      }
    } finally {
      this.connection.end();
    }
  }

  private read(): Promise<Endpoint | undefined> {
    return readEndpoint(this.context.pool, this.organization, this.id);
  }

  /** Whether the endpoint was responsive, according to the progress that the previous process has stored. */
  private async wasResponsive(): Promise<boolean> {
    const endpoint = await this.read();
    return endpoint?.progress?.lastSuccessAt != null && endpoint.progress.failingSince === null;
  }

  private async step(): Promise<NextStep> {
    const { logId, clock, records, ids, slots } = this.context;
    const endpoint = await this.read();
    if (endpoint === undefined) return 'end';
    const isChanged = this.revision !== undefined && this.revision !== endpoint.revision;
    this.revision = endpoint.revision;
    if (isChanged) this.limits = undefined;
    if (this.progress?.replay !== endpoint.replay) this.progress = progressOf(endpoint, endpoint.progress, logId);
    const { progress } = this;
    if (endpoint.state !== 'ACTIVE') {
      if (progress.tries > 0 || progress.failingSince !== null) await this.saveProgress(withoutFailures(progress));
      this.connection.end();
      return untilChanged;
    }
    if (this.disabled?.revision === endpoint.revision) {
      const { reason } = this.disabled;
      return (changed) => this.disableAgain(endpoint, reason, changed);
    }
    const leftMs = (progress.nextAttemptAt ?? 0) - clock.now();
    if (leftMs > 0 && !isChanged) return (changed) => clock.pause(leftMs, changed);

    // A record that was rejected alone is sent alone again, also by the next process.
    const limits = this.limits ?? { size: progress.refused > 0 ? 1 : endpoint.batch };
    const next = await slots.read(this.organization, () => readNext(records, ids, endpoint, progress, limits));
    // The check follows the read of the feed: a lost event never returns, so an event that the log has now was also in
    // the log when the feed was read.
    if (!(await this.isInLog(progress))) return this.rewind(progress);
    if ('batch' in next) {
      // The reads may have taken long, and the organization may have ended a secret meanwhile.
      const current = isFresh(endpoint) ? endpoint : await this.read();
      return current?.revision === endpoint.revision && isFresh(current)
        ? this.deliver(current, next.batch, limits)
        : 'next';
    }
    if ('upTo' in next) return (changed) => this.waitForChanges(endpoint, next.upTo, changed);
    const passed = { ...progress, ...next.cursor };
    if (clock.now() - this.savedAt >= SAVE_INTERVAL_MS) await this.saveProgress(passed);
    else this.progress = passed;
    return 'next';
  }

  /** Whether the log still has the last event that was delivered to the endpoint. */
  private async isInLog({ position, event }: StoredProgress): Promise<boolean> {
    return event === null || this.context.log.has({ position: BigInt(position), event });
  }

  /**
   * Moves the cursor back to a position that the log still has: the stored cursor, which a failover may have reset
   * together with the log, or else the endpoint's start position. The log reuses the positions of lost events.
   */
  private async rewind(lost: StoredProgress): Promise<NextStep> {
    const { logId, warn } = this.context;
    // Read the row again: the row that this step started with may be from before the failover.
    const endpoint = await this.read();
    if (endpoint === undefined) return 'end';
    const stored = progressOf(endpoint, endpoint.progress, logId);
    const restored = (await this.isInLog(stored)) ? stored : progressOf(endpoint, null, logId);
    this.progress = restored;
    this.limits = undefined;
    warn(
      `The log no longer has the event ${lost.event}… at position ${lost.position}, up to which records were delivered ` +
        `to webhook ${this.id}. Its deliveries continue after position ${restored.position}`,
    );
    return 'next';
  }

  /**
   * Stores the progress, unless the log has lost the event at its position. In that case, the next step continues from
   * the stored, earlier position.
   */
  private async store(progress: StoredProgress, attempted?: DeliveryAttempt): Promise<void> {
    if (await this.isInLog(progress)) await this.context.writer.store(this.id, progress, attempted);
  }

  private async deliver(endpoint: Endpoint, batch: Batch, limits: BatchLimits): Promise<NextStep> {
    const { giveUp, deliveryLog, commands, clock } = this.context;
    const sent = await post(this.context, endpoint, this.connection, batch);
    const { at, response, deliveryId, durationMs } = sent;
    // The endpoint may or may not have received the request, so the request will be sent again.
    if (giveUp.aborted && response.error !== undefined) return 'end';
    // The operator must provide the key or mend the proxy: nothing was sent, and the endpoint is not the cause.
    if (sent.isUnsent) return (changed) => clock.pause(UNSENT_RETRY_MS, changed);
    this.isResponsive = response.error === undefined && durationMs <= RESPONSIVE_WITHIN_MS;
    const known = this.progress!;
    const isOtherRecord = known.refusedId != null && known.refusedId !== deliveryId;
    const progress = isOtherRecord ? { ...known, refused: 0 } : known;
    const now = clock.now();
    const outcome = outcomeOf({ batch, at, response, progress, maxBatch: endpoint.batch, limits, now });
    const after = { ...outcome.progress, refusedId: outcome.progress.refused > 0 ? deliveryId : null };
    const attempted: DeliveryAttempt = { ...sent, records: batch.records.length, setAside: outcome.setAside };
    deliveryLog.add(endpoint, attempted);
    await this.retryUntilStored(() => this.store(after, attempted));
    this.progress = after;
    this.limits = outcome.limits;
    this.savedAt = now;
    if (outcome.disable === undefined) return 'next';
    const reason = outcome.disable;
    await this.retryUntilStored(() => disableEndpoint(commands, endpoint, reason));
    this.disabled = { revision: endpoint.revision, reason };
    return 'next';
  }

  /** Disables the endpoint again if its row does not change, because a failover may have lost the event. */
  private async disableAgain(endpoint: Endpoint, reason: DisabledReason, changed: AbortSignal): Promise<void> {
    await this.context.clock.pause(MAX_WAIT_MS, changed);
    if (!changed.aborted) await disableEndpoint(this.context.commands, endpoint, reason);
  }

  /** Retries until the outcome of a request is stored, so that a crash repeats at most one request. */
  private async retryUntilStored(job: () => Promise<void>): Promise<void> {
    const { clock, stop, giveUp } = this.context;
    const backoff = new Backoff(FIRST_BACKOFF_MS, MAX_BACKOFF_MS);
    for (;;) {
      try {
        return await job();
      } catch (error) {
        if (!isTransient(error) || stop.aborted) throw error;
        await clock.pause(backoff.next(), giveUp);
      }
    }
  }

  private async saveProgress(progress: StoredProgress): Promise<void> {
    await this.store(progress);
    this.progress = progress;
    this.savedAt = this.context.clock.now();
  }

  private async waitForChanges(endpoint: Endpoint, reached: number, changed: AbortSignal): Promise<void> {
    const { watch, clock, stop } = this.context;
    const after = Math.max(this.progress!.position, reached);
    const waitRequest = { organization: this.organization, kinds: kindsOf(endpoint), after, reached, asOf: 0 };
    const isSaved = this.progress!.position === endpoint.progress?.position;
    await watch.wait(waitRequest, isSaved ? MAX_WAIT_MS : SAVE_INTERVAL_MS, changed);
    if (!isSaved && !stop.aborted && clock.now() - this.savedAt >= SAVE_INTERVAL_MS)
      await this.saveProgress(this.progress!);
  }
}

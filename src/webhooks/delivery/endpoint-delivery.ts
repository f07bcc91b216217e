import { Backoff } from '../../flow/retry.js';
import { eventMark } from '../../records/feed/feed-id.js';
import { isTransient } from '../../postgres/transient-errors.js';
import type { StoredProgress } from '../../read-models/webhooks/statements.js';
import type { DeliveryContext } from './context.js';
import { disableEndpoint } from './disable-endpoint.js';
import { asUntried, type Endpoint, progressOf, readEndpoint } from './endpoint.js';
import { type Batch, kindsOf, type Portion, readNext } from './next-batch.js';
import { outcomeOf } from './outcome.js';
import { post } from './post.js';
import { type Attempted, LeaseLost } from './progress-writer.js';
import { Connection } from './requests/send.js';

/** How long it waits for news before it looks itself. ms */
const LOOKS_AFTER = 25_000;
/** Records that are not for the endpoint are noted as passed over as often as this. ms */
const NOTED_EVERY = 1_000;
/** What went wrong without being the endpoint's doing is tried again between these. ms */
const FIRST_BACK_OFF = 250;
const MAX_BACK_OFF = 5_000;
/** An endpoint that takes a delivery within this time keeps nobody else waiting. ms */
const SOON = 1_000;

/** What comes after a step: the next one at once, a wait, or the end. */
type After = 'next' | 'end' | ((changed: AbortSignal) => Promise<unknown>);

const untilChanged = (changed: AbortSignal): Promise<unknown> =>
  new Promise((resolve) => {
    if (changed.aborted) resolve(undefined);
    else changed.addEventListener('abort', resolve, { once: true });
  });

/** Tells one endpoint what it is to be told, in order, one request at a time. */
export class EndpointDelivery {
  private changed = new AbortController();
  private readonly connection: Connection;
  private progress: StoredProgress | undefined;
  private portion: Portion | undefined;
  /** The content that was refused last when it was sent alone. */
  private refusedId: string | undefined;
  /** Of the row, when it was last read. */
  private revision: number | undefined;
  /** The revision at which it was disabled, which the row does not say yet. */
  private disabledAt: number | undefined;
  private notedAt = 0;
  /** Whether it took its last delivery, and soon; undefined: not known yet. */
  private isProven: boolean | undefined;

  constructor(
    private readonly context: DeliveryContext,
    private readonly organization: string,
    private readonly id: string,
  ) {
    this.connection = new Connection(context.egress);
  }

  /** Says that its row has changed, or that `stop` has aborted. */
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
    const backoff = new Backoff(FIRST_BACK_OFF, MAX_BACK_OFF);
    try {
      while (!stop.aborted) {
        const { signal } = this.changed;
        try {
          const isProven = (this.isProven ??= await this.hasProven());
          const after = await slots.run(this.organization, isProven, async () => (stop.aborted ? 'end' : this.step()));
          if (after === 'end') return;
          if (after !== 'next') await after(signal);
          backoff.reset();
        } catch (error) {
          if (error instanceof LeaseLost) throw error;
          if (!isTransient(error)) warn(`The deliveries to the webhook ${this.id} wait: ${(error as Error).message}`);
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

  /** What the process before this one has seen of it. */
  private async hasProven(): Promise<boolean> {
    const endpoint = await this.read();
    return endpoint?.progress?.lastSuccessAt != null && endpoint.progress.failingSince === null;
  }

  private async step(): Promise<After> {
    const { logId, clock, records, ids } = this.context;
    const endpoint = await this.read();
    if (endpoint === undefined) return 'end';
    const isChanged = this.revision !== undefined && this.revision !== endpoint.revision;
    this.revision = endpoint.revision;
    if (isChanged) this.portion = undefined;
    if (this.progress?.replay !== endpoint.replay) this.progress = progressOf(endpoint, endpoint.progress, logId);
    const { progress } = this;
    if (endpoint.state !== 'ACTIVE') {
      if (progress.tries > 0 || progress.failingSince !== null) await this.note(asUntried(progress));
      this.connection.end();
      return untilChanged;
    }
    if (this.disabledAt === endpoint.revision) return untilChanged;
    const left = (progress.nextAttemptAt ?? 0) - clock.now();
    if (left > 0 && !isChanged) return (changed) => clock.pause(left, changed);

    const portion = this.portion ?? { size: endpoint.batch };
    const next = await readNext(records, ids, endpoint, progress, portion);
    // After the read: an event that the log has now was there when the read began, because a lost one does not come back.
    if (!(await this.isInLog(progress))) return this.goBack(progress);
    if ('batch' in next) return this.deliver(endpoint, next.batch, portion);
    if ('upTo' in next) return (changed) => this.waitForNews(endpoint, next.upTo, changed);
    const passed = { ...progress, ...next.cursor };
    if (clock.now() - this.notedAt >= NOTED_EVERY) await this.note(passed);
    else this.progress = passed;
    return 'next';
  }

  /** Whether the log still has the event up to which the endpoint was told. */
  private async isInLog({ position, event }: StoredProgress): Promise<boolean> {
    if (event === null) return true;
    const found = await this.context.log.eventAt(BigInt(position));
    return found !== undefined && eventMark(found.id) === event;
  }

  /**
   * Continues from the last place that the log still has: the stored one, which a failover takes back with the log, or
   * else the endpoint's beginning. At the positions that were lost the log takes other events.
   */
  private async goBack(lost: StoredProgress): Promise<After> {
    const { logId, warn } = this.context;
    // Read again: the row that the step began with may be from before the failover.
    const endpoint = await this.read();
    if (endpoint === undefined) return 'end';
    const stored = progressOf(endpoint, endpoint.progress, logId);
    const kept = (await this.isInLog(stored)) ? stored : progressOf(endpoint, null, logId);
    this.progress = kept;
    this.portion = undefined;
    this.refusedId = undefined;
    warn(
      `The log no longer has the event ${lost.event}… at position ${lost.position}, up to which records were delivered ` +
        `to the webhook ${this.id}. Its deliveries continue after position ${kept.position}`,
    );
    return 'next';
  }

  /** A place that the log has lost is not stored: the row has an earlier place, from which the next step goes on. */
  private async store(progress: StoredProgress, attempted?: Attempted): Promise<void> {
    if (await this.isInLog(progress)) await this.context.writer.store(this.id, progress, attempted);
  }

  private async deliver(endpoint: Endpoint, batch: Batch, portion: Portion): Promise<After> {
    const { giveUp, deliveryLog, commands, clock } = this.context;
    const posted = await post(this.context, endpoint, this.connection, batch);
    const { at, answer, webhookId, took } = posted;
    this.isProven = answer.error === undefined && took <= SOON;
    // It may have arrived or not: it is sent again.
    if (giveUp.aborted && answer.error !== undefined) return 'end';
    const known = this.progress!;
    const isOther = this.refusedId !== undefined && this.refusedId !== webhookId;
    const progress = isOther ? { ...known, refused: 0 } : known;
    const now = clock.now();
    const outcome = outcomeOf({ batch, at, answer, progress, most: endpoint.batch, portion, now });
    this.refusedId = outcome.progress.refused > 0 ? webhookId : undefined;
    const attempted: Attempted = { ...posted, records: batch.records.length, setAside: outcome.setAside };
    deliveryLog.add(endpoint, attempted);
    await this.untilDone(() => this.store(outcome.progress, attempted));
    this.progress = outcome.progress;
    this.portion = outcome.portion;
    this.notedAt = now;
    if (outcome.disable === undefined) return 'next';
    await this.untilDone(() => disableEndpoint(commands, endpoint, outcome.disable!));
    this.disabledAt = endpoint.revision;
    return 'next';
  }

  /** Nothing else is done before what came of a request is on disk: a kill repeats one request, not two. */
  private async untilDone(job: () => Promise<void>): Promise<void> {
    const { clock, stop, giveUp } = this.context;
    const backoff = new Backoff(FIRST_BACK_OFF, MAX_BACK_OFF);
    for (;;) {
      try {
        return await job();
      } catch (error) {
        if (!isTransient(error) || stop.aborted) throw error;
        await clock.pause(backoff.next(), giveUp);
      }
    }
  }

  private async note(progress: StoredProgress): Promise<void> {
    await this.store(progress);
    this.progress = progress;
    this.notedAt = this.context.clock.now();
  }

  private async waitForNews(endpoint: Endpoint, reached: number, changed: AbortSignal): Promise<void> {
    const { watch, clock, stop } = this.context;
    const after = Math.max(this.progress!.position, reached);
    const wanted = { organization: this.organization, kinds: kindsOf(endpoint), after, reached, asOf: 0 };
    const isNoted = this.progress!.position === endpoint.progress?.position;
    // If too many wait, this one looks itself.
    await watch
      .wait(wanted, isNoted ? LOOKS_AFTER : NOTED_EVERY, changed)
      .catch(() => clock.pause(NOTED_EVERY, changed));
    if (!isNoted && !stop.aborted && clock.now() - this.notedAt >= NOTED_EVERY) await this.note(this.progress!);
  }
}

import { Backoff } from '../../flow/retry.js';
import { isTransient } from '../../postgres/transient-errors.js';
import {
  DELETE_STATE_OF_DELETED_ENDPOINTS,
  LIST_ENDPOINTS,
  REWIND_TO_END,
  LIST_PENDING_TESTS,
  TEST_TTL_MS,
} from '../../read-models/webhooks/statements.js';
import { answerTest } from './answer-test.js';
import type { DeliveryContext } from './context.js';
import { EndpointDelivery } from './endpoint-delivery.js';
import { LeaseLost } from './progress-writer.js';

/** How often it looks for endpoints that have changed, and for tests. ms */
const LOOK_EVERY = 250;
const FIRST_BACK_OFF = 250;
const MAX_BACK_OFF = 5_000;
/** Tests under way, beside the deliveries. */
const MAX_TESTS = 16;

interface Running {
  readonly delivery: EndpointDelivery;
  revision: number;
}

/** The deliveries to all endpoints, while this process holds the lease. */
export class Deliveries {
  private readonly running = new Map<string, Running>();
  private readonly underWay = new Set<Promise<void>>();
  private readonly tests = new Set<string>();
  /** Whether there may be something that is kept of an endpoint that has been deleted. */
  private hasLeftovers = true;
  /** The end of the log when this began. */
  private begunAt: number | undefined;

  constructor(private readonly context: DeliveryContext) {}

  /**
   * Delivers until `stop` aborts, and what is in flight then has ended.
   * @throws what waiting cannot fix
   */
  async run(): Promise<void> {
    const { pool, clock, stop, lose, warn, onTurn } = this.context;
    const backoff = new Backoff(FIRST_BACK_OFF, MAX_BACK_OFF);
    stop.addEventListener('abort', () => this.wakeAll(), { once: true });
    try {
      while (!stop.aborted) {
        onTurn();
        try {
          await this.look(pool);
          backoff.reset();
          await clock.pause(LOOK_EVERY, stop);
        } catch (error) {
          if (!isTransient(error)) throw error;
          warn(`Waiting for the database to read the webhooks: ${(error as Error).message}`);
          await clock.pause(backoff.next(), stop);
        }
      }
    } finally {
      if (!stop.aborted) lose();
      await Promise.all(this.underWay);
    }
  }

  private async look(pool: DeliveryContext['pool']): Promise<void> {
    this.begunAt ??= await this.readEnd(pool);
    const living = await LIST_ENDPOINTS.run(pool, { upTo: this.begunAt });
    const ids = new Set(living.map(({ id }) => id));
    for (const { organization, id, revision } of living) {
      const known = this.running.get(id);
      if (known === undefined) this.begin(organization, id, revision);
      else if (known.revision !== revision) {
        known.revision = revision;
        known.delivery.wake();
      }
    }
    for (const [id, { delivery }] of this.running) if (!ids.has(id)) delivery.wake();
    if (this.hasLeftovers) {
      this.hasLeftovers = false;
      await DELETE_STATE_OF_DELETED_ENDPOINTS.run(pool, {}).catch((error: unknown) => {
        this.hasLeftovers = true;
        throw error;
      });
    }
    await this.answerTests(pool);
  }

  /** Whoever delivered before this process had read no further, so no cursor of this log can be beyond its end. */
  private async readEnd(pool: DeliveryContext['pool']): Promise<number> {
    const { logId, head } = this.context;
    const end = Number(await head());
    await REWIND_TO_END.run(pool, { logId, end });
    return end;
  }

  private begin(organization: string, id: string, revision: number): void {
    const delivery = new EndpointDelivery(this.context, organization, id);
    this.running.set(id, { delivery, revision });
    const ended = delivery.run().finally(() => {
      this.running.delete(id);
      this.hasLeftovers = true;
    });
    this.follow(ended);
  }

  private async answerTests(pool: DeliveryContext['pool']): Promise<void> {
    const { warn } = this.context;
    const free = MAX_TESTS - this.tests.size;
    if (free <= 0) return;
    const waiting = await LIST_PENDING_TESTS.run(pool, { keptMs: TEST_TTL_MS, limit: MAX_TESTS });
    for (const test of waiting.filter(({ id }) => !this.tests.has(id)).slice(0, free)) {
      this.tests.add(test.id);
      const answered = answerTest(this.context, test).catch((error: unknown) => {
        if (error instanceof LeaseLost) throw error;
        warn(`The test of the webhook ${test.endpoint} was not answered: ${(error as Error).message}`);
      });
      const ended = answered.finally(() => {
        this.tests.delete(test.id);
        // Its endpoint may have been deleted and forgotten before the attempt was stored.
        if (!this.running.has(test.endpoint)) this.hasLeftovers = true;
      });
      this.follow(ended);
    }
  }

  /** Once one has lost the lease, so have all. */
  private follow(work: Promise<void>): void {
    const followed = work.catch(this.context.lose).finally(() => this.underWay.delete(followed));
    this.underWay.add(followed);
  }

  private wakeAll(): void {
    for (const { delivery } of this.running.values()) delivery.wake();
  }
}

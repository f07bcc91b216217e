import type { Pool } from 'pg';
import { coalesce } from '../../flow/trailing-flight.js';
import { STORE_PROGRESS, type StoredAttempt, type StoredProgress } from '../../read-models/webhooks/statements.js';
import type { Answer } from './requests/answer.js';
import type { Batch } from './next-batch.js';

/** Another process has the lease: what this one knows is out of date. */
export class LeaseLost extends Error {}

/** A request and its answer. */
export interface Attempted {
  /** ms */
  readonly at: number;
  readonly webhookId: string;
  readonly records: number;
  readonly answer: Answer;
  /** ms */
  readonly took: number;
  readonly setAside?: Batch['records'][number] | undefined;
}

interface Row {
  readonly endpoint: string;
  readonly progress: StoredProgress | null;
  readonly attempt: StoredAttempt | null;
}

const storedAttempt = (
  { at, webhookId, records, answer, took, setAside }: Attempted,
  isTest: boolean,
): StoredAttempt => {
  const { status, error } = answer;
  return { at, deliveryId: webhookId, records, ms: took, isTest, status, error, setAside };
};

/** Writes what the attempts of all endpoints came to: everything that waits becomes one statement. */
export class ProgressWriter {
  private waiting: Row[] = [];

  /** @param epoch of the lease, without which nothing is written */
  constructor(
    private readonly pool: Pool,
    private readonly epoch: number,
  ) {}

  /**
   * Resolves when it is on disk.
   * @param attempted absent: records that are not for the endpoint were passed over
   * @throws LeaseLost, or the database's error
   */
  store(endpoint: string, progress: StoredProgress, attempted?: Attempted): Promise<void> {
    return this.write({
      endpoint,
      progress,
      attempt: attempted === undefined ? null : storedAttempt(attempted, false),
    });
  }

  /** The same of a test, which moves nothing. */
  storeTest(endpoint: string, attempted: Attempted): Promise<void> {
    return this.write({ endpoint, progress: null, attempt: storedAttempt(attempted, true) });
  }

  private async write(row: Row): Promise<void> {
    this.waiting.push(row);
    try {
      await this.flush();
    } catch (error) {
      // Whoever waits behind a flush that fails is refused without one: what is given again would be there twice.
      this.waiting = this.waiting.filter((each) => each !== row);
      throw error;
    }
  }

  private readonly flush = coalesce(async (): Promise<void> => {
    const rows = this.waiting;
    this.waiting = [];
    const [row] = await STORE_PROGRESS.runEach(this.pool, rows, { epoch: this.epoch });
    if (!row!.isHeld) throw new LeaseLost('Another process delivers');
  });
}

import type { Pool } from 'pg';
import { coalesce } from '../../flow/shared-work.js';
import { storeIsolated } from '../../postgres/transaction.js';
import { STORE_PROGRESS, type StoredAttempt, type StoredProgress } from '../progress-sql.js';
import type { EndpointResponse } from './send.js';
import type { Batch, Endpoint } from './next-batch.js';
import { readUrl } from '../../runtime/config.js';
import { tryWriteLines } from '../../runtime/terminal.js';

/** Another process has taken the lease, so the state of this process is out of date. */
export class LeaseLost extends Error {}

/** A request and its response. */
export interface DeliveryAttempt {
  /** When the request was sent, in ms. */
  readonly at: number;
  /** The `webhook-id` of the request. */
  readonly deliveryId: string;
  /** The number of records in the request; 0 for a test. */
  readonly records: number;
  readonly response: EndpointResponse;
  readonly durationMs: number;
  readonly setAside?: Batch['records'][number] | undefined;
}

interface Row {
  readonly endpoint: string;
  readonly progress: StoredProgress | null;
  readonly attempt: StoredAttempt | null;
  /** Why the row cannot be stored, if other rows of the same statement could be. */
  failure?: unknown;
}

/** The row without the response body, which is the only part that the endpoint determines freely. */
const withoutAnswer = ({ endpoint, progress, attempt }: Row): Row => {
  const lastFailure = progress?.lastFailure && { ...progress.lastFailure, answer: '' };
  return { endpoint, progress: progress && { ...progress, lastFailure: lastFailure ?? null }, attempt };
};

const storedAttempt = (
  { at, deliveryId, records, response, durationMs, setAside }: DeliveryAttempt,
  isTest: boolean,
): StoredAttempt => {
  const { status, error } = response;
  return { at, deliveryId, records, ms: durationMs, isTest, status, error, setAside };
};

/**
 * Stores the outcomes of the attempts of all endpoints. Outcomes that wait at the same time are written by one
 * statement.
 */
export class ProgressWriter {
  private waiting: Row[] = [];

  /** @param epoch the epoch of the lease; nothing is written once another process has the lease */
  constructor(
    private readonly pool: Pool,
    private readonly epoch: number,
  ) {}

  /**
   * Resolves when the progress is on disk.
   * @param attempt absent if the filter skipped records without an attempt
   * @throws LeaseLost, or the error of the database
   */
  store(endpoint: string, progress: StoredProgress, attempt?: DeliveryAttempt): Promise<void> {
    return this.write({
      endpoint,
      progress,
      attempt: attempt === undefined ? null : storedAttempt(attempt, false),
    });
  }

  /** Stores the attempt of a test, which does not change the progress. */
  storeTest(endpoint: string, attempt: DeliveryAttempt): Promise<void> {
    return this.write({ endpoint, progress: null, attempt: storedAttempt(attempt, true) });
  }

  private async write(row: Row): Promise<void> {
    this.waiting.push(row);
    try {
      await this.flush();
    } catch (error) {
      // Remove the row: if a flush before this one fails, the row is still waiting, and the caller's retry would add it twice.
      this.waiting = this.waiting.filter((each) => each !== row);
      throw error;
    }
    if (row.failure !== undefined) throw row.failure;
  }

  private readonly flush = coalesce(async (): Promise<void> => {
    const rows = this.waiting;
    this.waiting = [];
    const rejected: Row[] = [];
    const store = (part: readonly Row[]): Promise<void> => this.storeRows(part);
    await storeIsolated(rows, store, (row) => rejected.push(row));
    for (const row of rejected)
      await storeIsolated([withoutAnswer(row)], store, (_, error) => {
        row.failure = error;
      });
  });

  private async storeRows(rows: readonly Row[]): Promise<void> {
    const [row] = await STORE_PROGRESS.runEach(this.pool, rows, { epoch: this.epoch });
    if (!row!.isHeld) throw new LeaseLost('Another process has the lease of the webhook deliveries');
  }
}

/**
 * Writes one line of JSON per request, in the format of the access log. A line contains only the origin of the URL,
 * because the paths and queries of webhook URLs often contain secrets.
 */
export class DeliveryLog {
  private lost = 0;

  constructor(private readonly isOn: boolean) {}

  add(
    { organization, webhookId: endpoint, url }: Endpoint,
    { at, deliveryId, records, response, durationMs, setAside }: DeliveryAttempt,
  ): void {
    if (!this.isOn) return;
    const line = {
      time: new Date(at).toISOString(),
      level: 'info',
      context: 'delivery',
      organization,
      endpoint,
      origin: readUrl(url)?.origin ?? null,
      webhookId: deliveryId,
      records,
      status: response.status ?? null,
      error: response.error ?? null,
      ms: durationMs,
      ...(setAside && { setAside }),
      ...(this.lost > 0 && { linesLost: this.lost }),
    };
    // A full pipe behind standard output must not block deliveries, so lines are dropped and counted.
    if (tryWriteLines(`${JSON.stringify(line)}\n`)) this.lost = 0;
    else this.lost += 1;
  }
}

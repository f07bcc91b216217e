import { randomUUID } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { commandOf } from '../http/requests.js';
import { Pool } from 'pg';
import { Unavailable } from '../errors.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { ConcurrencyLimit, declareQueue } from '../flow/concurrency-limit.js';
import { pause } from '../flow/time.js';
import { Expiry } from '../read-models/expiry.js';
import {
  ATTEMPTS_OF_DELETED_ENDPOINTS,
  PROGRESS_OF_DELETED_ENDPOINTS,
  ADD_TEST,
  DELETE_TEST,
  EXPIRED_TESTS,
  READ_TEST,
  type TestResult,
} from './progress-sql.js';
import { loadWebhooks } from './load-webhooks.js';
import { webhookNotFound } from './webhook.js';
import type { TestResultDto } from './attempts.dto.js';
import { TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { limit } from '../limits.js';

/** Asks the delivery process, the only process that sends requests to endpoints, to send one `webhook.test` event. */
export class TestWebhook extends commandOf<
  AtPosition<TestResultDto>,
  { readonly organization: string; readonly webhookId: string }
>() {}

/** An attempt takes up to 20 s, and the delivery process needs up to a second to notice the request. */
const RESULT_TIMEOUT_MS = limit('test of a webhook', 22_000, 'ms', 'request', '503');
/** Timeout if no delivery process is running: another process takes over within 5 s. */
const NO_PROCESS_TIMEOUT_MS = limit('test of a webhook while no delivery process runs', 6_000, 'ms', 'request', '503');
const POLL_INTERVAL_MS = 100;
const RETRY_AFTER_SECONDS = 5;
const QUEUE = declareQueue({ name: 'webhook tests', maxRunning: 2, maxWaiting: 8, waitTimeoutMs: 4_000 });

@CommandHandler(TestWebhook)
export class TestWebhookHandler implements ICommandHandler<TestWebhook> {
  private readonly concurrency = new ConcurrencyLimit(QUEUE);

  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    expiry: Expiry,
  ) {
    expiry.register(EXPIRED_TESTS, ATTEMPTS_OF_DELETED_ENDPOINTS, PROGRESS_OF_DELETED_ENDPOINTS);
  }

  /**
   * @throws NotFound if the organization has no such endpoint
   * @throws TooManyRequests if too many tests of the organization are waiting
   * @throws Unavailable if no delivery process responds in time
   */
  execute({ organization, webhookId }: TestWebhook): Promise<AtPosition<TestResultDto>> {
    return this.concurrency.run(organization, undefined, async () => {
      const { byId, position } = await loadWebhooks(this.pool, this.log, organization);
      if ((byId.get(webhookId)?.state ?? 'DELETED') === 'DELETED') throw webhookNotFound();
      const {
        took,
        webhookId: deliveryId,
        answer: responseBody,
        ...result
      } = await this.runTest(organization, webhookId);
      return { result: { deliveryId, ...result, responseBody, ms: took }, position };
    });
  }

  private async runTest(organization: string, webhookId: string): Promise<TestResult> {
    const id = randomUUID();
    await ADD_TEST.run(this.pool, { id, organization, webhookId }, TIME_LIMIT_MS);
    try {
      for (
        const began = performance.now();
        performance.now() - began < RESULT_TIMEOUT_MS;
        await pause(POLL_INTERVAL_MS)
      ) {
        const [row] = await READ_TEST.run(this.pool, { id }, TIME_LIMIT_MS);
        if (row!.result) return row!.result;
        if (!row!.isDelivering && performance.now() - began > NO_PROCESS_TIMEOUT_MS) break;
      }
    } finally {
      await DELETE_TEST.run(this.pool, { id }, TIME_LIMIT_MS).catch(() => {});
    }
    throw new Unavailable('The webhook delivery process did not respond; try again', RETRY_AFTER_SECONDS);
  }
}

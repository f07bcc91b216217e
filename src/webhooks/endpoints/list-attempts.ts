import { type IQueryHandler, Query, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { formatInstant } from '../../events/instant.js';
import { RequestConcurrency } from '../../read-models/request-concurrency.js';
import { loadWebhooks } from './load-webhooks.js';
import { READ_ATTEMPTS } from './statements.js';
import { webhookNotFound } from './webhook.js';
import type { AttemptDto } from '../attempts.dto.js';

/** Lists the latest delivery attempts of an endpoint, newest first. */
export class ListAttempts extends Query<AtPosition<AttemptDto[]>> {
  constructor(
    readonly organization: string,
    readonly webhookId: string,
    readonly limit: number,
  ) {
    super();
  }
}

const TIME_LIMIT_MS = 2_500;

@QueryHandler(ListAttempts)
export class ListAttemptsHandler implements IQueryHandler<ListAttempts> {
  constructor(
    private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /** @throws NotFound if the organization has no such endpoint */
  execute({ organization, webhookId, limit }: ListAttempts): Promise<AtPosition<AttemptDto[]>> {
    return this.concurrency.run(organization, `attempts ${webhookId} ${limit}`, async () => {
      const { byId, position } = await loadWebhooks(this.pool, this.log, organization);
      if ((byId.get(webhookId)?.state ?? 'DELETED') === 'DELETED') throw webhookNotFound();
      const rows = await READ_ATTEMPTS.run(this.pool, { webhookId, limit }, TIME_LIMIT_MS);
      return { result: rows.map(({ attempt }) => ({ ...attempt, at: formatInstant(attempt.at) })), position };
    });
  }
}

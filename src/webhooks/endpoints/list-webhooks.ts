import { type IQueryHandler, Query, QueryBus, QueryHandler } from '@nestjs/cqrs';
import { Pool } from 'pg';
import type { AtPosition } from '../../event-log/command-queue.js';
import { EventLog } from '../../event-log/event-log.js';
import { RecordsPool } from '../../read-models/pools.js';
import { RequestConcurrency } from '../../read-models/request-concurrency.js';
import { loadWebhooks } from './load-webhooks.js';
import { webhookNotFound } from './webhook.js';
import { viewsOf } from './webhook-view.js';
import type { WebhookDto } from '../webhooks.dto.js';

/**
 * Lists the endpoints of an organization in the order of their creation, or only the endpoint with the id `webhookId`.
 */
export class ListWebhooks extends Query<AtPosition<WebhookDto[]>> {
  constructor(
    readonly organization: string,
    readonly webhookId?: string,
  ) {
    super();
  }
}

/** Returns one endpoint as the API shows it. @throws the errors of `ListWebhooks` */
export const showWebhook = async (
  queries: QueryBus,
  organization: string,
  id: string,
): Promise<AtPosition<WebhookDto>> => {
  const { result, position } = await queries.execute(new ListWebhooks(organization, id));
  return { result: result[0]!, position };
};

@QueryHandler(ListWebhooks)
export class ListWebhooksHandler implements IQueryHandler<ListWebhooks> {
  constructor(
    private readonly pool: Pool,
    private readonly records: RecordsPool,
    private readonly log: EventLog,
    private readonly concurrency: RequestConcurrency,
  ) {}

  /**
   * @throws NotFound if the organization has no endpoint with this id
   * @throws TooManyRequests if too many requests of the organization are waiting
   * @throws Unavailable if the log or the database is unavailable
   */
  execute({ organization, webhookId }: ListWebhooks): Promise<AtPosition<WebhookDto[]>> {
    return this.concurrency.run(organization, `webhooks ${webhookId ?? ''}`, async () => {
      const { byId, now, position } = await loadWebhooks(this.pool, this.log, organization);
      const wanted = [...byId.values()].filter(
        (webhook) => webhook.state !== 'DELETED' && (webhookId === undefined || webhook.webhookId === webhookId),
      );
      if (webhookId !== undefined && wanted.length === 0) throw webhookNotFound();
      return { result: await viewsOf(this.records, wanted, now), position };
    });
  }
}

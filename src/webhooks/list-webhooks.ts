import { Pool } from 'pg';
import { type IQueryHandler, QueryBus, QueryHandler } from '@nestjs/cqrs';
import { queryOf } from '../http/requests.js';
import { formatInstant } from '../events/instant.js';
import type { Webhook } from '../events/types/organizations.js';
import type { RowOf } from '../postgres/statement.js';
import { numbersOf } from '../events/listed-items.js';
import type { LastFailure, StoredProgress } from './progress-sql.js';
import { READ_PROGRESS, loadWebhooks, READ_ATTEMPTS } from './load-webhooks.js';
import type { WebhookDto, WebhookFailureDto } from './webhooks.dto.js';
import type { AtPosition } from '../event-log/command-queue.js';
import { EventLog } from '../event-log/event-log.js';
import { RecordsPool } from '../read-models/pools.js';
import { RequestConcurrency, TIME_LIMIT_MS } from '../read-models/request-concurrency.js';
import { webhookNotFound } from './webhook.js';
import type { AttemptDto } from './attempts.dto.js';
import { databaseTime } from '../postgres/clock.js';
import { createReadModels } from '../read-models/tables.js';

type Progress = Omit<RowOf<typeof READ_PROGRESS>, 'webhookId'>;

const NOT_STARTED: Progress = {
  behind: 0,
  isFailing: false,
  nextAttemptAt: null,
  lastSuccessAt: null,
  lastFailure: null,
};

const instant = (ms: number | null): string | undefined => (ms === null ? undefined : formatInstant(ms));

const failureOf = ({ at, status, error, answer }: LastFailure): WebhookFailureDto => ({
  at: formatInstant(at),
  ...(status !== undefined && { status }),
  error,
  responseBody: answer,
});

const stateOf = ({ state }: Webhook, { isFailing }: Progress): WebhookDto['state'] =>
  state === 'ACTIVE' ? (isFailing ? 'FAILING' : 'ACTIVE') : 'DISABLED';

/** An endpoint as the API shows it. @param now the time of the database, in ms */
export const viewOf = (webhook: Webhook, now: number, progress = NOT_STARTED): WebhookDto => {
  const { lastFailure } = progress;
  return {
    id: webhook.webhookId,
    url: webhook.url,
    types: webhook.types,
    assetTypes: webhook.assetTypes,
    statuses: webhook.statuses,
    batch: webhook.batch,
    description: webhook.description,
    state: stateOf(webhook, progress),
    disabledReason: webhook.disabledReason,
    behind: progress.behind,
    lastSuccessAt: instant(progress.lastSuccessAt),
    lastFailure: lastFailure ? failureOf(lastFailure) : undefined,
    nextAttemptAt: webhook.state === 'ACTIVE' ? instant(progress.nextAttemptAt) : undefined,
    previousSecretUntil:
      webhook.previousUntil === undefined || webhook.previousUntil <= now
        ? undefined
        : formatInstant(webhook.previousUntil),
    createdAt: formatInstant(webhook.createdAt),
    updatedAt: formatInstant(webhook.updatedAt),
  };
};

/** Endpoints of one organization as the API shows them, with the state of their deliveries. */
const viewsOf = async (pool: Pool, webhooks: readonly Webhook[], now: number): Promise<WebhookDto[]> => {
  if (webhooks.length === 0) return [];
  const rows = await READ_PROGRESS.run(
    pool,
    {
      organization: webhooks[0]!.organization,
      webhooks: JSON.stringify(webhooks.map((webhook) => ({ ...webhook, kinds: numbersOf(webhook.types) }))),
    },
    TIME_LIMIT_MS,
  );
  const progress = new Map(rows.map(({ webhookId, ...row }) => [webhookId, row]));
  return webhooks.map((webhook) => viewOf(webhook, now, progress.get(webhook.webhookId)));
};

/**
 * Lists the endpoints of an organization in the order of their creation, or only the endpoint with the id `webhookId`.
 */
export class ListWebhooks extends queryOf<
  AtPosition<WebhookDto[]>,
  { readonly organization: string; readonly webhookId?: string }
>() {}

/** Returns one endpoint as the API shows it. @throws the errors of `ListWebhooks` */
export const showWebhook = async (
  queries: QueryBus,
  organization: string,
  id: string,
): Promise<AtPosition<WebhookDto>> => {
  const { result, position } = await queries.execute(new ListWebhooks({ organization, webhookId: id }));
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

/** Lists the latest delivery attempts of an endpoint, newest first. */
export class ListAttempts extends queryOf<
  AtPosition<AttemptDto[]>,
  { readonly organization: string; readonly webhookId: string; readonly limit: number }
>() {}

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

/** An endpoint as the CLI shows it to the operator. */
interface AnyWebhook {
  readonly organization: string;
  readonly id: string;
  /** The URL without the query, which may contain a token of the organization. */
  readonly url: string;
  readonly state: 'ACTIVE' | 'FAILING' | 'DISABLED';
  readonly disabledReason: string | null;
  /** ms */
  readonly lastSuccessAt: number | null;
  /** ms */
  readonly nextAttemptAt: number | null;
  /** The ids of the master keys of the current secret and, while it still signs, of the previous secret. */
  readonly masterKeys: readonly string[];
}

/** Lists the endpoints of one organization, or of all organizations, as of the read models. */
export const listAllWebhooks = async (pool: Pool, organization?: string): Promise<AnyWebhook[]> => {
  const now = await databaseTime(pool);
  const query = createReadModels(pool)
    .selectFrom('webhook_endpoints as w')
    .leftJoin('service.webhook_progress as p', 'p.endpoint', 'w.id')
    .select(['w.endpoint', 'p.progress'])
    .where('w.state', '<>', 'DELETED');
  const rows = await (organization === undefined ? query : query.where('w.organization', '=', organization))
    .orderBy('w.organization')
    .orderBy('w.created_at')
    .orderBy('w.id')
    .execute();
  return rows.map((row) => {
    const webhook = row.endpoint as Webhook;
    const progress = row.progress as StoredProgress | null;
    const { origin, pathname } = new URL(webhook.url);
    // Progress from before a replay is out of date.
    const current = webhook.state === 'ACTIVE' && progress?.replay === webhook.replay ? progress : undefined;
    const previous = (webhook.previousUntil ?? 0) > now ? [webhook.previousMasterKey!] : [];
    return {
      organization: webhook.organization,
      id: webhook.webhookId,
      url: origin + pathname,
      state:
        current !== undefined && current.failingSince !== null ? 'FAILING' : (webhook.state as 'ACTIVE' | 'DISABLED'),
      disabledReason: webhook.disabledReason ?? null,
      lastSuccessAt: progress?.lastSuccessAt ?? null,
      nextAttemptAt: current?.nextAttemptAt ?? null,
      masterKeys: [...new Set([webhook.masterKey, ...previous])],
    };
  });
};

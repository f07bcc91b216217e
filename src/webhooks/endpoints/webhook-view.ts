import type { Pool } from 'pg';
import { formatInstant } from '../../events/instant.js';
import type { Webhook } from '../../events/types/webhooks.js';
import type { RowOf } from '../../postgres/statement.js';
import { numbersOf } from '../../events/listed-items.js';
import type { LastFailure } from '../progress-sql.js';
import { READ_PROGRESS } from './statements.js';
import type { WebhookDto, WebhookFailureDto } from '../webhooks.dto.js';

type Progress = Omit<RowOf<typeof READ_PROGRESS>, 'webhookId'>;

const NOT_STARTED: Progress = {
  behind: 0,
  isFailing: false,
  nextAttemptAt: null,
  lastSuccessAt: null,
  lastFailure: null,
};
const TIME_LIMIT_MS = 2_500;

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
export const viewsOf = async (pool: Pool, webhooks: readonly Webhook[], now: number): Promise<WebhookDto[]> => {
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

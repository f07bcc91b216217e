import type { Pool } from 'pg';
import type { Webhook } from '../events/types/webhooks.js';
import { databaseTime } from '../postgres/clock.js';
import { createReadModels } from '../read-models/kysely.js';
import type { StoredProgress } from './progress-sql.js';

/** An endpoint as the CLI shows it to the operator. */
export interface AnyWebhook {
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

import type { Pool } from 'pg';
import { databaseTime } from '../postgres/clock.js';
import { createReadModels } from '../read-models/kysely.js';

/** An endpoint as operators see it. */
export interface AnyWebhook {
  readonly organization: string;
  readonly id: string;
  /** Without its query, which may hold a token of the organization's. */
  readonly url: string;
  readonly state: 'ACTIVE' | 'FAILING' | 'DISABLED';
  readonly disabledReason: string | null;
  /** ms */
  readonly lastSuccessAt: number | null;
  /** ms */
  readonly nextAttemptAt: number | null;
  /** The master keys that its secrets are derived from: the newest one, and the one before while that signs too. */
  readonly masterKeys: readonly string[];
}

/** The endpoints of one organization or of all, as projected so far. */
export const listAllWebhooks = async (pool: Pool, organization?: string): Promise<AnyWebhook[]> => {
  const now = await databaseTime(pool);
  const all = createReadModels(pool)
    .selectFrom('webhook_endpoints as w')
    .leftJoin('service.webhook_progress as p', 'p.endpoint', 'w.id')
    .select(['w.organization', 'w.id', 'w.url', 'w.state', 'w.disabled_reason', 'w.secret_key'])
    .select(['w.previous_secret_key', 'w.previous_secret_until'])
    .select(['w.replay', 'p.replay as told_replay', 'p.failing_since', 'p.last_success_at', 'p.next_attempt_at'])
    .where('w.state', '<>', 'DELETED');
  const rows = await (organization === undefined ? all : all.where('w.organization', '=', organization))
    .orderBy('w.organization')
    .orderBy('w.created_at')
    .orderBy('w.id')
    .execute();
  return rows.map((row) => {
    const { origin, pathname } = new URL(row.url);
    // After a replay it begins anew.
    const isTold = row.state === 'ACTIVE' && row.told_replay === row.replay;
    const isFailing = isTold && row.failing_since !== null;
    const previous = (row.previous_secret_until ?? 0) > now ? [row.previous_secret_key!] : [];
    return {
      organization: row.organization,
      id: row.id,
      url: origin + pathname,
      state: isFailing ? 'FAILING' : (row.state as 'ACTIVE' | 'DISABLED'),
      disabledReason: row.disabled_reason,
      lastSuccessAt: row.last_success_at,
      nextAttemptAt: isTold ? row.next_attempt_at : null,
      masterKeys: [...new Set([row.secret_key, ...previous])],
    };
  });
};

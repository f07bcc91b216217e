import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from './kysely.js';
import { NOTE_KEY_USES } from './statements.js';

export interface KeyUse {
  readonly keyId: string;
  /** ms */
  readonly lastUsedAt: number;
}

/** Notes when keys were last used; what another instance has noted later stays. Not counted from the log. */
export const noteKeyUses = async (pool: Pool, uses: readonly KeyUse[]): Promise<void> => {
  await NOTE_KEY_USES.run(pool, columnsOf(uses, 'keyId', 'lastUsedAt'));
};

/** By key id, in ms. */
export const readKeyUses = async (pool: Pool): Promise<Map<string, number>> => {
  const rows = await createReadModels(pool).selectFrom('service.key_uses').select(['key_id', 'last_used_at']).execute();
  return new Map(rows.map(({ key_id: id, last_used_at: at }) => [id, at]));
};

import type { Pool } from 'pg';
import { columnsOf } from '../postgres/columns.js';
import { createReadModels } from './kysely.js';
import { STORE_KEY_USES } from './statements.js';

export interface KeyUse {
  readonly keyId: string;
  /** ms */
  readonly lastUsedAt: number;
}

/** Stores when keys were last used, unless another instance has stored a later use. The log does not contain uses. */
export const storeKeyUses = async (pool: Pool, uses: readonly KeyUse[]): Promise<void> => {
  await STORE_KEY_USES.run(pool, columnsOf(uses, 'keyId', 'lastUsedAt'));
};

/** When each key was last used (ms), by key id. */
export const readKeyUses = async (pool: Pool): Promise<Map<string, number>> => {
  const rows = await createReadModels(pool).selectFrom('service.key_uses').select(['key_id', 'last_used_at']).execute();
  return new Map(rows.map(({ key_id: id, last_used_at: at }) => [id, at]));
};
